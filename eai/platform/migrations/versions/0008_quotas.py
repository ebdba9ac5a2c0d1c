"""Quotas, what was used of them, and what is held of them while a model is being called."""

from alembic import op

from eai.platform.roles import APP, AUDIT, SWEEPER
from eai.platform.tenancy import step_function, tenant_table

revision = "0008"
down_revision = "0007"

_OLD_FLUSH = "audit_flush(uuid[], integer[], bytea[], uuid[], uuid[], bytea[], jsonb[], jsonb[])"
_FLUSH = "audit_flush(uuid[], integer[], bytea[], uuid[], uuid[], bytea[], jsonb[], jsonb[], jsonb[])"
_RESERVE = """reserve_model_call(uuid, uuid, uuid, uuid[], uuid, text, text, text, bigint, double precision,
                                 jsonb, bytea, uuid, uuid, bytea)"""


def upgrade() -> None:
    """Create the tables, the reservation as one statement, and settlement as a part of the audit's flush."""
    _quotas()
    _usage()
    _reservations()
    _expired()
    _reserve()
    _settle()
    _usage_events()
    op.execute(f"DROP FUNCTION eai.{_OLD_FLUSH}")
    _flush()
    _flush_without_settlement()


def _quotas() -> None:
    """A limit per owner, metric and period. Without a group and a base the owner is the tenant.

    A group or base that is deleted takes its quotas along.
    """
    op.execute("""
        CREATE TABLE eai.quotas (
            tenant_id   uuid NOT NULL,
            id          uuid NOT NULL,
            group_id    uuid,
            base_id     uuid,
            metric      text NOT NULL CHECK (metric IN ('tokens', 'requests')),
            period      text NOT NULL CHECK (period IN ('month', 'minute')),
            limit_value bigint NOT NULL CHECK (limit_value >= 0),
            revision    integer NOT NULL DEFAULT 1,
            created_by  uuid,
            created_at  timestamptz NOT NULL DEFAULT now(),
            updated_at  timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id),
            UNIQUE NULLS NOT DISTINCT (tenant_id, group_id, base_id, metric, period),
            CHECK (num_nonnulls(group_id, base_id) <= 1),
            FOREIGN KEY (tenant_id, group_id) REFERENCES eai.groups ON DELETE CASCADE,
            FOREIGN KEY (tenant_id, base_id) REFERENCES eai.knowledge_bases ON DELETE CASCADE
        )""")
    op.execute("CREATE INDEX quotas_group ON eai.quotas (tenant_id, group_id) WHERE group_id IS NOT NULL")
    op.execute("CREATE INDEX quotas_base ON eai.quotas (tenant_id, base_id) WHERE base_id IS NOT NULL")
    tenant_table("quotas")


def _usage() -> None:
    """No foreign key: a quota goes without waiting for the calls that hold some of it; the sweep follows."""
    op.execute("""
        CREATE TABLE eai.quota_usage (
            tenant_id    uuid NOT NULL,
            quota_id     uuid NOT NULL,
            period_start timestamptz NOT NULL,
            used         bigint NOT NULL DEFAULT 0 CHECK (used >= 0),
            reserved     bigint NOT NULL DEFAULT 0 CHECK (reserved >= 0),
            PRIMARY KEY (tenant_id, quota_id, period_start)
        ) WITH (fillfactor = 50)""")
    tenant_table("quota_usage")
    op.execute(f"CREATE POLICY settling ON eai.quota_usage TO {AUDIT} USING (true) WITH CHECK (true)")
    op.execute(f"GRANT SELECT, UPDATE (used, reserved) ON eai.quota_usage TO {AUDIT}")


def _reservations() -> None:
    """`quotas` says what is held of which: [{quota, period_start, metric, amount}].

    The application adds reservations and forgets old ones; only the flush that tells of a call's end
    closes one.
    """
    op.execute("""
        CREATE TABLE eai.model_reservations (
            tenant_id    uuid NOT NULL,
            id           uuid NOT NULL,
            model        text NOT NULL,
            endpoint     text,
            operation    text NOT NULL,
            principal    uuid,
            tokens_bound bigint NOT NULL CHECK (tokens_bound >= 0),
            quotas       jsonb NOT NULL,
            usage        jsonb,
            state        text NOT NULL CHECK (state IN ('held', 'settled', 'released', 'unknown')),
            intent_seq   bigint,
            lease_until  timestamptz NOT NULL,
            created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
            settled_at   timestamptz,
            tokens_used  bigint CHECK (tokens_used >= 0),
            PRIMARY KEY (tenant_id, id)
        )""")
    op.execute("""
        CREATE INDEX model_reservations_held ON eai.model_reservations (tenant_id, lease_until)
        WHERE state = 'held'""")
    op.execute("""
        CREATE INDEX model_reservations_closed ON eai.model_reservations (tenant_id, settled_at)
        WHERE state <> 'held'""")
    tenant_table("model_reservations", grants="SELECT, INSERT, DELETE")
    # What is held can only be settled: whoever deleted it would hide what a call may be spending.
    op.execute(f"""
        CREATE POLICY closed_only ON eai.model_reservations AS RESTRICTIVE FOR DELETE TO {APP}
         USING (state <> 'held')""")
    op.execute(f"CREATE POLICY settling ON eai.model_reservations TO {AUDIT} USING (true) WITH CHECK (true)")
    op.execute(f"""
        GRANT SELECT, UPDATE (state, settled_at, tokens_used) ON eai.model_reservations TO {AUDIT}""")
    op.execute(f"CREATE POLICY listing ON eai.model_reservations FOR SELECT TO {SWEEPER} USING (true)")
    op.execute(f"GRANT SELECT (tenant_id, state, lease_until) ON eai.model_reservations TO {SWEEPER}")


def _expired() -> None:
    """Ids only, and only where there is something to close: the caller then binds each tenant."""
    op.execute("""
        CREATE FUNCTION eai.tenants_with_expired_calls() RETURNS SETOF uuid
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = eai, pg_temp AS $$
            SELECT DISTINCT r.tenant_id FROM model_reservations r
             WHERE r.state = 'held' AND r.lease_until <= now()
             ORDER BY r.tenant_id
        $$""")
    step_function("tenants_with_expired_calls()", SWEEPER)


def _reserve() -> None:
    """One statement before a call: the switches, every limit, what is held, and the intent in the chain.

    The locks of the kill switches come first, shared: none that is acknowledged is overlooked. Then the
    head of the chain, if there is an intent, and the rows of usage in the order of their quotas, as the
    flush takes them that settles. `refusal` is null, `kill_switch`, `quota` (what is left of a month) or
    `rate` (of a minute), and `detail` names what refused; a refusal leaves nothing behind.
    """
    op.execute("""
        CREATE FUNCTION eai.reserve_model_call(
            p_tenant uuid, p_id uuid, p_principal uuid, p_groups uuid[], p_base uuid,
            p_model text, p_endpoint text, p_operation text, p_tokens bigint, p_lease_s double precision,
            p_usage jsonb, p_body bytea, p_subject uuid, p_key uuid, p_sealed bytea
        ) RETURNS TABLE (refusal text, detail jsonb)
        LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET plan_cache_mode = force_generic_plan AS $$
        DECLARE
            nobody  CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
            moment  timestamptz;
            stopped text;
            quota   record;
            held    jsonb := '[]';
            seq     bigint;
        BEGIN
            PERFORM set_config('app.tenant_id', p_tenant::text, true);
            PERFORM pg_advisory_xact_lock_shared(eai.kill_switch_lock(nobody));
            PERFORM pg_advisory_xact_lock_shared(eai.kill_switch_lock(p_tenant));
            SELECT s.scope INTO stopped
              FROM (SELECT k.scope, 1 AS place FROM eai.platform_kill_switches k
                     WHERE k.scope IN ('instance', 'provider:' || p_endpoint)
                    UNION ALL
                    SELECT k.scope, 2 FROM eai.kill_switches k
                     WHERE k.tenant_id = p_tenant AND k.scope IN ('tenant', 'model:' || p_model)) s
             ORDER BY s.place, s.scope LIMIT 1;
            IF stopped IS NOT NULL THEN
                refusal := 'kill_switch';
                detail := jsonb_build_object('scope', stopped);
                RETURN NEXT;
                RETURN;
            END IF;
            BEGIN
                IF p_body IS NOT NULL THEN
                    seq := eai.audit_append(p_body, p_subject, p_key, p_sealed);
                END IF;
                -- Not the transaction's time: it may have waited into the next minute.
                moment := clock_timestamp();
                FOR quota IN
                    SELECT q.id, q.metric, q.period, q.limit_value,
                           CASE WHEN q.group_id IS NOT NULL THEN 'group:' || q.group_id
                                WHEN q.base_id IS NOT NULL THEN 'knowledge_base:' || q.base_id
                                ELSE 'tenant' END AS owner,
                           CASE q.metric WHEN 'tokens' THEN p_tokens ELSE 1 END AS amount,
                           date_trunc(q.period, moment, 'UTC') AS starts,
                           (date_trunc(q.period, moment AT TIME ZONE 'UTC')
                            + CASE q.period WHEN 'month' THEN interval '1 month' ELSE interval '1 minute' END
                           ) AT TIME ZONE 'UTC' AS ends
                      FROM eai.quotas q
                     WHERE q.tenant_id = p_tenant
                       AND (q.group_id IS NULL AND q.base_id IS NULL
                            OR q.group_id = ANY (p_groups) OR q.base_id = p_base)
                     ORDER BY q.id
                LOOP
                    INSERT INTO eai.quota_usage AS u (tenant_id, quota_id, period_start, reserved)
                    SELECT p_tenant, quota.id, quota.starts, quota.amount
                     WHERE quota.amount <= quota.limit_value
                    ON CONFLICT (tenant_id, quota_id, period_start) DO UPDATE
                       SET reserved = u.reserved + EXCLUDED.reserved
                     WHERE u.used + u.reserved + EXCLUDED.reserved <= quota.limit_value;
                    IF NOT FOUND THEN
                        RAISE EXCEPTION 'refused' USING ERRCODE = 'EAI01';
                    END IF;
                    held := held || jsonb_build_object(
                        'quota', quota.id, 'period_start', quota.starts,
                        'metric', quota.metric, 'amount', quota.amount);
                END LOOP;
                INSERT INTO eai.model_reservations
                       (tenant_id, id, model, endpoint, operation, principal, tokens_bound, quotas, usage,
                        state, intent_seq, lease_until)
                VALUES (p_tenant, p_id, p_model, p_endpoint, p_operation, p_principal, p_tokens, held,
                        p_usage, 'held', seq, clock_timestamp() + make_interval(secs => p_lease_s));
                detail := jsonb_build_object('intent_seq', seq);
            EXCEPTION WHEN SQLSTATE 'EAI01' THEN
                refusal := CASE quota.period WHEN 'minute' THEN 'rate' ELSE 'quota' END;
                detail := jsonb_build_object(
                    'owner', quota.owner, 'metric', quota.metric, 'window', quota.period,
                    'limit', quota.limit_value, 'requested', quota.amount,
                    'used', COALESCE((SELECT u.used + u.reserved FROM eai.quota_usage u
                                       WHERE u.tenant_id = p_tenant AND u.quota_id = quota.id
                                         AND u.period_start = quota.starts), 0),
                    'retry_after_s',
                    GREATEST(1, ceil(extract(epoch FROM quota.ends - clock_timestamp()))::bigint));
            END;
            RETURN NEXT;
        END $$""")
    op.execute(f"REVOKE ALL ON FUNCTION eai.{_RESERVE} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION eai.{_RESERVE} TO {APP}")


def _settle() -> None:
    """Close reservations of one tenant: [{reservation, state, tokens}]. What is not held cannot be closed.

    Called by audit_flush, which holds the head of the tenant's chain. What was measured counts in full,
    more than was held included; what never reached the model counts as nothing.
    """
    op.execute("""
        CREATE FUNCTION eai.settle_model_calls(p_tenant uuid, p_settled jsonb) RETURNS void
        LANGUAGE plpgsql VOLATILE SET search_path = eai, pg_temp AS $$
        DECLARE
            closed integer;
        BEGIN
            UPDATE model_reservations r
               SET state = s.state, tokens_used = s.tokens, settled_at = clock_timestamp()
              FROM jsonb_to_recordset(p_settled) AS s (reservation uuid, state text, tokens bigint)
             WHERE r.tenant_id = p_tenant AND r.id = s.reservation AND r.state = 'held'
               AND s.state <> 'held';
            GET DIAGNOSTICS closed = ROW_COUNT;
            IF closed <> jsonb_array_length(p_settled) THEN
                RAISE EXCEPTION 'a reservation that is to be closed is not held';
            END IF;
            PERFORM 1 FROM quota_usage u
              WHERE u.tenant_id = p_tenant
                AND (u.quota_id, u.period_start) IN (
                    SELECT h.quota, h.period_start
                      FROM jsonb_to_recordset(p_settled) AS s (reservation uuid)
                      JOIN model_reservations r ON r.tenant_id = p_tenant AND r.id = s.reservation
                     CROSS JOIN LATERAL jsonb_to_recordset(r.quotas)
                           AS h (quota uuid, period_start timestamptz))
              ORDER BY u.quota_id, u.period_start FOR UPDATE;
            UPDATE quota_usage u
               SET used = u.used + c.spent, reserved = u.reserved - c.held
              FROM (SELECT h.quota, h.period_start, sum(h.amount)::bigint AS held,
                           sum(CASE WHEN r.state = 'released' THEN 0
                                    WHEN h.metric = 'tokens' THEN r.tokens_used
                                    ELSE h.amount END)::bigint AS spent
                      FROM jsonb_to_recordset(p_settled) AS s (reservation uuid)
                      JOIN model_reservations r ON r.tenant_id = p_tenant AND r.id = s.reservation
                     CROSS JOIN LATERAL jsonb_to_recordset(r.quotas)
                           AS h (quota uuid, period_start timestamptz, metric text, amount bigint)
                     GROUP BY h.quota, h.period_start) c
             WHERE u.tenant_id = p_tenant AND u.quota_id = c.quota AND u.period_start = c.period_start;
        END $$""")
    op.execute("REVOKE ALL ON FUNCTION eai.settle_model_calls(uuid, jsonb) FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION eai.settle_model_calls(uuid, jsonb) TO {AUDIT}")


def _usage_events() -> None:
    """Which base it was for, and whether a client told of it: then it was not measured here."""
    op.execute("""
        ALTER TABLE eai.usage_events
          ADD COLUMN base_id uuid,
          ADD COLUMN is_external boolean NOT NULL DEFAULT false""")


def _flush() -> None:
    """As 0002 made it, and `p_settled[i]` holds the reservations that the events of tenant `i` close."""
    op.execute("""
        CREATE FUNCTION eai.audit_flush(
            p_tenants uuid[], p_counts integer[], p_bodies bytea[],
            p_subjects uuid[], p_keys uuid[], p_sealed bytea[], p_usage jsonb[], p_retrieved jsonb[],
            p_settled jsonb[]
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
                                tokens, cost_micros, principal, api_key, request_id, labels, base_id,
                                is_external)
                        SELECT tenant, u.id, u.occurred_at, u.kind, u.unit, u.quantity, u.provider,
                               u.region, u.model, u.tokens, u.cost_micros, u.principal, u.api_key,
                               u.request_id, u.labels, u.base_id, COALESCE(u.is_external, false)
                          FROM jsonb_to_recordset(p_usage[i]) AS u (
                               id uuid, occurred_at timestamptz, kind text, unit text, quantity bigint,
                               provider text, region text, model text, tokens bigint, cost_micros bigint,
                               principal uuid, api_key uuid, request_id text, labels jsonb, base_id uuid,
                               is_external boolean);
                    END IF;
                    IF failure IS NULL AND p_retrieved[i] IS NOT NULL THEN
                        PERFORM count_retrievals(tenant, ARRAY(
                            SELECT d::uuid FROM jsonb_array_elements_text(p_retrieved[i]) AS d));
                    END IF;
                    IF failure IS NULL AND p_settled[i] IS NOT NULL THEN
                        PERFORM settle_model_calls(tenant, p_settled[i]);
                    END IF;
                EXCEPTION WHEN OTHERS THEN
                    first_seq := NULL;
                    failure := SQLSTATE;
                END;
                low := high + 1;
                RETURN NEXT;
            END LOOP;
        END $$""")
    step_function(_FLUSH, AUDIT)


def _flush_without_settlement() -> None:
    """The signature of 0002, for processes that still run the code of before while this is rolled out."""
    op.execute("""
        CREATE FUNCTION eai.audit_flush(
            p_tenants uuid[], p_counts integer[], p_bodies bytea[],
            p_subjects uuid[], p_keys uuid[], p_sealed bytea[], p_usage jsonb[], p_retrieved jsonb[]
        ) RETURNS TABLE (tenant uuid, first_seq bigint, failure text)
        LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = eai, pg_temp AS $$
            SELECT * FROM audit_flush(p_tenants, p_counts, p_bodies, p_subjects, p_keys, p_sealed,
                                      p_usage, p_retrieved,
                                      array_fill(NULL::jsonb, ARRAY[cardinality(p_tenants)]))
        $$""")
    step_function(_OLD_FLUSH, AUDIT)
