"""The audit chains, what is sealed beside them, and the two functions that alone may append to them."""

from alembic import op

from eai.platform.roles import APP, AUDIT
from eai.platform.tenancy import step_function, tenant_table

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create audit's tables, grants and steps, and the usage rows that are flushed with them."""
    _chain()
    _details()
    _checkpoints()
    _usage()
    _extend()
    _append()
    _flush()
    _checkpoint_steps()


def _chain() -> None:
    op.execute("""
        CREATE TABLE eai.audit_events (
            tenant_id       uuid NOT NULL,
            seq             bigint NOT NULL CHECK (seq > 0),
            occurred_at     timestamptz NOT NULL,
            action          text NOT NULL,
            decision        text NOT NULL CHECK (decision IN ('allow', 'deny')),
            actor_principal uuid,
            resource_kind   text,
            resource_id     text,
            body            bytea NOT NULL,
            hash            bytea NOT NULL CHECK (octet_length(hash) = 32),
            PRIMARY KEY (tenant_id, seq)
        )""")
    op.execute("CREATE INDEX audit_events_action ON eai.audit_events (tenant_id, action, seq)")
    op.execute("""
        CREATE TABLE eai.audit_heads (
            tenant_id uuid PRIMARY KEY,
            seq       bigint NOT NULL,
            hash      bytea NOT NULL
        ) WITH (fillfactor = 50)""")
    _append_only("audit_events", step_grants="INSERT")
    _append_only("audit_heads", step_grants="SELECT, INSERT, UPDATE")


def _details() -> None:
    """Personal values of an event, under a key per principal: without the key's row they are noise."""
    op.execute("""
        CREATE TABLE eai.audit_details (
            tenant_id uuid NOT NULL,
            seq       bigint NOT NULL,
            subject   uuid NOT NULL,
            key_id    uuid NOT NULL,
            sealed    bytea NOT NULL,
            PRIMARY KEY (tenant_id, seq)
        )""")
    _append_only("audit_details", step_grants="INSERT")
    op.execute("""
        CREATE TABLE eai.audit_detail_keys (
            tenant_id  uuid NOT NULL,
            subject    uuid NOT NULL,
            key_id     uuid NOT NULL,
            wrapped    bytea NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, subject)
        )""")
    tenant_table("audit_detail_keys", grants="SELECT, INSERT, DELETE")


def _checkpoints() -> None:
    op.execute("""
        CREATE TABLE eai.audit_checkpoints (
            tenant_id   uuid NOT NULL,
            seq         bigint NOT NULL,
            root        bytea NOT NULL,
            frontier    bytea NOT NULL,
            issued_at   timestamptz NOT NULL,
            key_id      text NOT NULL,
            public_key  bytea NOT NULL,
            body        bytea NOT NULL,
            signature   bytea NOT NULL,
            anchored_at timestamptz,
            PRIMARY KEY (tenant_id, seq)
        )""")
    op.execute("""
        CREATE INDEX audit_checkpoints_unanchored ON eai.audit_checkpoints (tenant_id, seq)
        WHERE anchored_at IS NULL""")
    _append_only("audit_checkpoints", step_grants="SELECT, INSERT, UPDATE (anchored_at)")
    # Keys sign for every tenant, so this table belongs to none; one first key, one successor of each.
    op.execute("""
        CREATE TABLE eai.signing_keys (
            key_id      text PRIMARY KEY,
            public_key  bytea NOT NULL,
            wrapped     bytea NOT NULL,
            predecessor text REFERENCES eai.signing_keys,
            endorsement bytea,
            created_at  timestamptz NOT NULL,
            CHECK ((predecessor IS NULL) = (endorsement IS NULL))
        )""")
    op.execute("CREATE UNIQUE INDEX signing_keys_succession ON eai.signing_keys (COALESCE(predecessor, ''))")
    op.execute(f"GRANT SELECT, INSERT ON eai.signing_keys TO {APP}")


def _usage() -> None:
    """Read and summed up by finops; written with the audit events of the same request."""
    op.execute("""
        CREATE TABLE eai.usage_events (
            tenant_id   uuid NOT NULL,
            id          uuid NOT NULL,
            occurred_at timestamptz NOT NULL,
            kind        text NOT NULL,
            unit        text NOT NULL,
            quantity    bigint NOT NULL,
            provider    text,
            region      text,
            model       text,
            tokens      bigint NOT NULL DEFAULT 0,
            cost_micros bigint NOT NULL DEFAULT 0,
            principal   uuid,
            api_key     uuid,
            request_id  text,
            labels      jsonb NOT NULL DEFAULT '{}',
            PRIMARY KEY (tenant_id, id)
        )""")
    op.execute("CREATE INDEX usage_events_time ON eai.usage_events (tenant_id, occurred_at)")
    _append_only("usage_events", step_grants="INSERT")


def _append_only(name: str, *, step_grants: str) -> None:
    """The application only reads the table; rows come through the steps of the audit role."""
    tenant_table(name, grants="SELECT")
    op.execute(f"CREATE POLICY appending ON eai.{name} TO {AUDIT} USING (true) WITH CHECK (true)")
    op.execute(f"GRANT {step_grants} ON eai.{name} TO {AUDIT}")


def _extend() -> None:
    """The chain rule of `eai/audit/chain.py`, in SQL. The query columns are read from the body itself."""
    op.execute(r"""
        CREATE FUNCTION eai.audit_extend(
            p_tenant uuid, p_seq bigint, p_hash bytea,
            p_bodies bytea[], p_subjects uuid[], p_keys uuid[], p_sealed bytea[]
        ) RETURNS void
        LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = eai, pg_temp AS $$
        DECLARE
            link     bytea := p_hash;
            hashes   bytea[] := '{}';
            written  integer;
        BEGIN
            FOR i IN 1 .. cardinality(p_bodies) LOOP
                link := sha256('\x6561692e61756469742e656e7472792e763100'::bytea
                               || link || int8send(p_seq + i) || sha256(p_bodies[i]));
                hashes := array_append(hashes, link);
            END LOOP;
            INSERT INTO audit_events (tenant_id, seq, occurred_at, action, decision,
                                      actor_principal, resource_kind, resource_id, body, hash)
            SELECT p_tenant, p_seq + e.place, j.occurred_at, j.action, j.decision,
                   (j.actor ->> 'principal')::uuid, j.resource ->> 'kind', j.resource ->> 'id', e.body, e.hash
              FROM unnest(p_bodies, hashes) WITH ORDINALITY AS e (body, hash, place),
                   jsonb_to_record(convert_from(e.body, 'UTF8')::jsonb) AS j (
                       tenant uuid, occurred_at timestamptz, action text, decision text,
                       actor jsonb, resource jsonb)
             WHERE j.tenant = p_tenant;
            GET DIAGNOSTICS written = ROW_COUNT;
            IF written <> cardinality(p_bodies) THEN
                RAISE EXCEPTION 'an audit entry names another tenant';
            END IF;
            IF cardinality(array_remove(p_sealed, NULL)) > 0 THEN
                INSERT INTO audit_details (tenant_id, seq, subject, key_id, sealed)
                SELECT p_tenant, p_seq + d.place, d.subject, d.key_id, d.sealed
                  FROM unnest(p_subjects, p_keys, p_sealed)
                       WITH ORDINALITY AS d (subject, key_id, sealed, place)
                 WHERE d.sealed IS NOT NULL;
            END IF;
            UPDATE audit_heads SET seq = p_seq + cardinality(p_bodies), hash = link
             WHERE tenant_id = p_tenant;
        END $$""")
    _internal("audit_extend(uuid, bigint, bytea, bytea[], uuid[], uuid[], bytea[])")
    # Whoever makes a chain's head holds this lock, so that a flush never waits for a stranger's insert.
    op.execute("""
        CREATE FUNCTION eai.audit_head_lock(p_tenant uuid) RETURNS bigint
        LANGUAGE sql IMMUTABLE SET search_path = eai, pg_temp
        AS $$ SELECT hashtextextended('eai.audit_heads', 0) # hashtextextended(p_tenant::text, 0) $$""")
    _internal("audit_head_lock(uuid)")


def _append() -> None:
    """For mutations: the last statement before the caller's commit, under the tenant that is bound."""
    op.execute(r"""
        CREATE FUNCTION eai.audit_append(p_body bytea, p_subject uuid, p_key uuid, p_sealed bytea)
        RETURNS bigint
        LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = eai, pg_temp AS $$
        DECLARE
            bound uuid := NULLIF(current_setting('app.tenant_id', true), '')::uuid;
            head  audit_heads;
        BEGIN
            IF bound IS NULL THEN
                RAISE EXCEPTION 'no tenant is bound' USING ERRCODE = 'insufficient_privilege';
            END IF;
            SELECT * INTO head FROM audit_heads h WHERE h.tenant_id = bound FOR UPDATE;
            IF NOT FOUND THEN
                PERFORM pg_advisory_xact_lock(audit_head_lock(bound));
                INSERT INTO audit_heads VALUES (bound, 0, decode(repeat('00', 32), 'hex'))
                ON CONFLICT DO NOTHING;
                SELECT * INTO head FROM audit_heads h WHERE h.tenant_id = bound FOR UPDATE;
            END IF;
            PERFORM audit_extend(bound, head.seq, head.hash,
                                 ARRAY[p_body], ARRAY[p_subject], ARRAY[p_key], ARRAY[p_sealed]);
            RETURN head.seq + 1;
        END $$""")
    step_function("audit_append(bytea, uuid, uuid, bytea)", AUDIT)


def _flush() -> None:
    """For reads: the events and usage of all waiting requests, whatever their tenants, in one call.

    `p_tenants` is ascending; tenant `i` owns the next `p_counts[i]` of the event arrays, and has its
    usage rows in `p_usage[i]` and the documents it was shown in `p_retrieved[i]` (`count_retrievals`
    belongs to knowledge). A chain whose head somebody holds is passed over, and what fails for one
    tenant undoes only that tenant's part: `failure` says so, and the caller tries again or refuses.
    """
    op.execute(r"""
        CREATE FUNCTION eai.audit_flush(
            p_tenants uuid[], p_counts integer[], p_bodies bytea[],
            p_subjects uuid[], p_keys uuid[], p_sealed bytea[], p_usage jsonb[], p_retrieved jsonb[]
        ) RETURNS TABLE (tenant uuid, first_seq bigint, failure text)
        LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = eai, pg_temp AS $$
        DECLARE
            head  audit_heads;
            low   integer := 1;
            high  integer;
        BEGIN
            FOR i IN 1 .. cardinality(p_tenants) LOOP
                tenant := p_tenants[i];
                first_seq := NULL;
                failure := NULL;
                high := low + p_counts[i] - 1;
                BEGIN
                    IF high >= low THEN
                        SELECT * INTO head FROM audit_heads h
                         WHERE h.tenant_id = tenant FOR UPDATE SKIP LOCKED;
                        IF NOT FOUND AND pg_try_advisory_xact_lock(audit_head_lock(tenant)) THEN
                            INSERT INTO audit_heads VALUES (tenant, 0, decode(repeat('00', 32), 'hex'))
                            ON CONFLICT DO NOTHING;
                            SELECT * INTO head FROM audit_heads h
                             WHERE h.tenant_id = tenant FOR UPDATE SKIP LOCKED;
                        END IF;
                        IF head.seq IS NULL THEN
                            failure := 'locked';
                        ELSE
                            PERFORM audit_extend(tenant, head.seq, head.hash, p_bodies[low:high],
                                                 p_subjects[low:high], p_keys[low:high], p_sealed[low:high]);
                            first_seq := head.seq + 1;
                        END IF;
                    END IF;
                    IF failure IS NULL AND p_usage[i] IS NOT NULL THEN
                        INSERT INTO usage_events
                               (tenant_id, id, occurred_at, kind, unit, quantity, provider, region, model,
                                tokens, cost_micros, principal, api_key, request_id, labels)
                        SELECT tenant, u.id, u.occurred_at, u.kind, u.unit, u.quantity, u.provider,
                               u.region, u.model, u.tokens, u.cost_micros, u.principal, u.api_key,
                               u.request_id, u.labels
                          FROM jsonb_to_recordset(p_usage[i]) AS u (
                               id uuid, occurred_at timestamptz, kind text, unit text, quantity bigint,
                               provider text, region text, model text, tokens bigint, cost_micros bigint,
                               principal uuid, api_key uuid, request_id text, labels jsonb);
                    END IF;
                    IF failure IS NULL AND p_retrieved[i] IS NOT NULL THEN
                        PERFORM count_retrievals(tenant, ARRAY(
                            SELECT d::uuid FROM jsonb_array_elements_text(p_retrieved[i]) AS d));
                    END IF;
                EXCEPTION WHEN OTHERS THEN
                    first_seq := NULL;
                    failure := SQLSTATE;
                END;
                low := high + 1;
                RETURN NEXT;
            END LOOP;
        END $$""")
    step_function("audit_flush(uuid[], integer[], bytea[], uuid[], uuid[], bytea[], jsonb[], jsonb[])", AUDIT)


def _checkpoint_steps() -> None:
    """Checkpoints of the bound tenant: written once, then only marked as anchored."""
    op.execute("""
        CREATE FUNCTION eai.audit_checkpoint(
            p_seq bigint, p_root bytea, p_frontier bytea, p_issued_at timestamptz,
            p_key_id text, p_public_key bytea, p_body bytea, p_signature bytea
        ) RETURNS boolean
        LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = eai, pg_temp AS $$
        DECLARE
            bound uuid := NULLIF(current_setting('app.tenant_id', true), '')::uuid;
        BEGIN
            IF NOT EXISTS (SELECT FROM audit_heads h WHERE h.tenant_id = bound AND h.seq >= p_seq) THEN
                RAISE EXCEPTION 'no chain of this length is bound' USING ERRCODE = 'insufficient_privilege';
            END IF;
            INSERT INTO audit_checkpoints
                   (tenant_id, seq, root, frontier, issued_at, key_id, public_key, body, signature)
            VALUES (bound, p_seq, p_root, p_frontier, p_issued_at,
                    p_key_id, p_public_key, p_body, p_signature)
            ON CONFLICT DO NOTHING;
            RETURN FOUND;
        END $$""")
    step_function("audit_checkpoint(bigint, bytea, bytea, timestamptz, text, bytea, bytea, bytea)", AUDIT)
    op.execute("""
        CREATE FUNCTION eai.audit_anchored(p_seqs bigint[]) RETURNS void
        LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = eai, pg_temp AS $$
            UPDATE audit_checkpoints SET anchored_at = now()
             WHERE tenant_id = NULLIF(current_setting('app.tenant_id', true), '')::uuid
               AND seq = ANY (p_seqs) AND anchored_at IS NULL
        $$""")
    step_function("audit_anchored(bigint[])", AUDIT)
    # Ids only, and only where there is something to do: the caller then binds each tenant.
    op.execute("""
        CREATE FUNCTION eai.audit_unsettled(p_events bigint, p_issued_before timestamptz) RETURNS SETOF uuid
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = eai, pg_temp AS $$
            SELECT h.tenant_id
              FROM audit_heads h
              LEFT JOIN LATERAL (SELECT c.seq, c.issued_at FROM audit_checkpoints c
                                  WHERE c.tenant_id = h.tenant_id ORDER BY c.seq DESC LIMIT 1) last ON true
             WHERE last.seq IS NULL
                OR h.seq < last.seq
                OR h.seq >= last.seq + p_events
                OR (h.seq > last.seq AND last.issued_at <= p_issued_before)
                OR EXISTS (SELECT FROM audit_checkpoints c
                            WHERE c.tenant_id = h.tenant_id AND c.anchored_at IS NULL)
             ORDER BY h.tenant_id
        $$""")
    step_function("audit_unsettled(bigint, timestamptz)", AUDIT)


def _internal(signature: str) -> None:
    """Like `step_function`, but only the audit role's own steps may call it."""
    step_function(signature, AUDIT)
    op.execute(f"SET LOCAL ROLE {AUDIT}")
    op.execute(f"REVOKE ALL ON FUNCTION eai.{signature} FROM {APP}")
    op.execute("SET LOCAL ROLE eai_owner")
