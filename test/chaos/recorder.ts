/**
 * The recorder: triggers in the store's own database that write down who claimed a run under which epoch, and who wrote
 * which entry when.
 *
 * It knows processes by the name of their connections and asks nothing of the engine, so that fencing is audited by
 * somebody else than who does it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'pg'

const triggers = (s: string): string => `
CREATE TABLE ${s}.chaos_claim(run text COLLATE "C", epoch int, who text, at timestamptz DEFAULT clock_timestamp());
CREATE TABLE ${s}.chaos_entry(act text COLLATE "C", seq int, epoch int, who text, at timestamptz DEFAULT clock_timestamp());
CREATE INDEX chaos_entry_seq ON ${s}.chaos_entry(act, seq);
CREATE FUNCTION ${s}.chaos_claimed() RETURNS trigger AS $$ BEGIN
  INSERT INTO ${s}.chaos_claim(run, epoch, who) VALUES(NEW.id, NEW.epoch, current_setting('application_name')); RETURN NULL; END $$ LANGUAGE plpgsql;
CREATE FUNCTION ${s}.chaos_written() RETURNS trigger AS $$ BEGIN
  INSERT INTO ${s}.chaos_entry(act, seq, epoch, who)
    VALUES(NEW.act, NEW.seq, (SELECT epoch FROM ${s}.run WHERE id = NEW.run), current_setting('application_name')); RETURN NULL; END $$ LANGUAGE plpgsql;
CREATE TRIGGER chaos_claimed AFTER UPDATE OF epoch ON ${s}.run FOR EACH ROW WHEN (OLD.epoch <> NEW.epoch) EXECUTE FUNCTION ${s}.chaos_claimed();
CREATE TRIGGER chaos_written AFTER INSERT ON ${s}.entry FOR EACH ROW EXECUTE FUNCTION ${s}.chaos_written();`

/** What anybody may ask the database directly. */
export class Recorder {
  readonly schema: string
  readonly #workers: string
  readonly #pool: Pool

  /** `workers`: how the names of their connections begin. */
  constructor(url: string, schema: string, workers: string) {
    this.schema = schema
    this.#workers = workers
    this.#pool = new Pool({
      connectionString: url,
      max: 2,
      connectionTimeoutMillis: 5_000,
      application_name: 'recorder',
      allowExitOnIdle: true,
    })
    this.#pool.on('error', () => undefined)
  }

  /** Begins to record. The store's tables are there. */
  async install(): Promise<void> {
    await this.#pool.query(triggers(`"${this.schema}"`))
  }

  /** `$s` stands for the schema. Tries again while the database is down. */
  async ask<T>(sql: string, params: readonly unknown[] = []): Promise<readonly T[]> {
    for (let attempt = 0; ; attempt++) {
      try {
        return (await this.#pool.query(sql.replaceAll('$s', `"${this.schema}"`), [...params])).rows as T[]
      } catch (thrown) {
        if (attempt > 300 || /^[24]2/.test(String((thrown as { code?: unknown }).code))) throw thrown
        await sleep(100)
      }
    }
  }

  /** Breaks a connection of a worker, as a network would. */
  async cut(luck: number): Promise<boolean> {
    const theirs = 'SELECT pid FROM pg_stat_activity WHERE starts_with(application_name, $1)'
    const sql = `SELECT pg_terminate_backend(pid) FROM (${theirs} ORDER BY pid) one OFFSET floor($2::float8 * (SELECT count(*) FROM (${theirs}) theirs)) LIMIT 1`
    return (await this.ask(sql, [this.#workers, luck])).length > 0
  }

  close(): Promise<void> {
    return this.#pool.end()
  }
}
