-- The tables as 0.2.0 made them (version 5), in the schema SCHEMA: run_done completed, run_failed failed, run_waits waits for an approval.
CREATE TABLE SCHEMA.run(
  num BIGINT GENERATED ALWAYS AS IDENTITY, id TEXT COLLATE "C" PRIMARY KEY, agent TEXT COLLATE "C" NOT NULL, version TEXT COLLATE "C" NOT NULL, status TEXT NOT NULL DEFAULT 'running', control TEXT, stuck TEXT,
  parked INTEGER NOT NULL DEFAULT 0, owner TEXT COLLATE "C", epoch INTEGER NOT NULL DEFAULT 1, caller TEXT, created BIGINT NOT NULL, ended BIGINT,
  losses INTEGER NOT NULL DEFAULT 0, asks INTEGER NOT NULL DEFAULT 0, tenant TEXT COLLATE "C", usd DOUBLE PRECISION, usage TEXT, why TEXT, state TEXT COLLATE "C" GENERATED ALWAYS AS (CASE WHEN ended IS NOT NULL THEN status WHEN stuck IS NOT NULL THEN 'stuck'
  WHEN control IN ('pausing', 'paused', 'human_control') THEN control WHEN parked = 0 THEN 'work' WHEN asks > 0 THEN 'asks' ELSE 'rests' END) STORED) WITH (fillfactor = 70);
CREATE INDEX run_open ON SCHEMA.run(owner, agent, version, created) WHERE ended IS NULL AND parked = 0;
CREATE INDEX run_lost ON SCHEMA.run(losses) WHERE losses > 1 AND ended IS NULL;
CREATE INDEX run_stuck ON SCHEMA.run(id) WHERE stuck IS NOT NULL AND ended IS NULL;
CREATE INDEX run_ended ON SCHEMA.run(ended) WHERE ended IS NOT NULL;
CREATE TABLE SCHEMA.entry(
  run TEXT COLLATE "C" NOT NULL, position BIGINT NOT NULL, act TEXT COLLATE "C" NOT NULL, seq INTEGER NOT NULL, at BIGINT NOT NULL, flags SMALLINT NOT NULL, body TEXT NOT NULL,
  num BIGINT GENERATED ALWAYS AS IDENTITY, PRIMARY KEY(run, position));
CREATE UNIQUE INDEX entry_num ON SCHEMA.entry(num);
GRANT SELECT ON SEQUENCE SCHEMA.entry_num_seq TO PUBLIC;
CREATE UNIQUE INDEX entry_ends ON SCHEMA.entry(act, seq) WHERE seq = 0 OR flags > 1;
CREATE TABLE SCHEMA.summed(act TEXT COLLATE "C" NOT NULL, start INTEGER NOT NULL, upto INTEGER NOT NULL, run TEXT COLLATE "C" NOT NULL, PRIMARY KEY(act, start));
CREATE INDEX summed_run ON SCHEMA.summed(run);
CREATE TABLE SCHEMA.blob(run TEXT COLLATE "C" NOT NULL, hash TEXT COLLATE "C" NOT NULL, body TEXT NOT NULL, PRIMARY KEY(run, hash));
CREATE TABLE SCHEMA.inbox(
  position BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run TEXT COLLATE "C" NOT NULL, act TEXT COLLATE "C" NOT NULL, key TEXT COLLATE "C" NOT NULL, body TEXT,
  taken BOOLEAN NOT NULL DEFAULT false) WITH (fillfactor = 80);
CREATE UNIQUE INDEX inbox_key ON SCHEMA.inbox(act, key);
CREATE INDEX inbox_unread ON SCHEMA.inbox(run, position) WHERE NOT taken;
CREATE INDEX inbox_cancel ON SCHEMA.inbox(run) WHERE key = '!cancel';
CREATE TABLE SCHEMA.question(
  num BIGINT GENERATED ALWAYS AS IDENTITY, id TEXT COLLATE "C" PRIMARY KEY, run TEXT COLLATE "C" NOT NULL, act TEXT COLLATE "C" NOT NULL, address TEXT COLLATE "C" NOT NULL, key TEXT COLLATE "C" NOT NULL,
  kind TEXT NOT NULL, until BIGINT, at BIGINT NOT NULL, body TEXT NOT NULL, tenant TEXT COLLATE "C");
CREATE INDEX question_run ON SCHEMA.question(run);
CREATE INDEX question_act ON SCHEMA.question(act, address);
CREATE INDEX question_due ON SCHEMA.question(until) WHERE until IS NOT NULL;
CREATE TABLE SCHEMA.account(act TEXT COLLATE "C" PRIMARY KEY, run TEXT COLLATE "C" NOT NULL, body TEXT NOT NULL) WITH (fillfactor = 70);
CREATE INDEX account_run ON SCHEMA.account(run);
CREATE TABLE SCHEMA.value(stream TEXT COLLATE "C" NOT NULL, key TEXT COLLATE "C" NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY(stream, key)) WITH (fillfactor = 70);
CREATE TABLE SCHEMA.value_log(stream TEXT COLLATE "C" NOT NULL, seq INTEGER NOT NULL, at BIGINT NOT NULL, body TEXT NOT NULL, PRIMARY KEY(stream, seq));
CREATE TABLE SCHEMA.done(run TEXT COLLATE "C" NOT NULL, stream TEXT COLLATE "C" NOT NULL, once TEXT COLLATE "C" NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY(run, stream, once));
CREATE TABLE SCHEMA.process(id TEXT COLLATE "C" PRIMARY KEY, until BIGINT NOT NULL, session TEXT, lock BIGINT NOT NULL) WITH (fillfactor = 20);
CREATE TABLE SCHEMA.receipt(process TEXT COLLATE "C" PRIMARY KEY, n BIGINT NOT NULL, answers JSONB, made TIMESTAMPTZ NOT NULL DEFAULT now()) WITH (fillfactor = 20);
CREATE TABLE SCHEMA.report(process TEXT COLLATE "C" PRIMARY KEY, body TEXT NOT NULL) WITH (fillfactor = 20);
CREATE TABLE SCHEMA.meta(key TEXT COLLATE "C" PRIMARY KEY, value TEXT NOT NULL);
CREATE INDEX run_state ON SCHEMA.run(state, created, id) WHERE strpos(id, '>') = 0;
CREATE INDEX run_listed ON SCHEMA.run(created, id) WHERE strpos(id, '>') = 0;
CREATE INDEX run_agent ON SCHEMA.run(agent, created, id) WHERE strpos(id, '>') = 0;
CREATE INDEX run_usd ON SCHEMA.run(usd) WHERE usd IS NOT NULL;
CREATE INDEX run_apart ON SCHEMA.run(state, id) WHERE strpos(id, '>') > 0 AND ended IS NULL;
CREATE TABLE SCHEMA.tag(name TEXT COLLATE "C" NOT NULL, value TEXT COLLATE "C" NOT NULL, created BIGINT NOT NULL, run TEXT COLLATE "C" NOT NULL, PRIMARY KEY(name, value, created, run));
CREATE INDEX inbox_pause ON SCHEMA.inbox(run) WHERE NOT taken AND starts_with(key, '!pause');
CREATE INDEX question_asked ON SCHEMA.question(at, num) WHERE kind <> 'timer';
CREATE INDEX question_kind ON SCHEMA.question(kind, at, num) WHERE kind <> 'timer';
CREATE INDEX question_tenant ON SCHEMA.question(tenant, at, num) WHERE kind <> 'timer' AND tenant IS NOT NULL;
INSERT INTO SCHEMA.run(num, id, agent, version, status, control, stuck, parked, owner, epoch, caller, created, ended, losses, asks, tenant, usd, usage, why) OVERRIDING SYSTEM VALUE VALUES('1', 'run_done', 'greets', '1+af2778af0ecc', 'completed', NULL, NULL, 0, NULL, 1, '{"user":"ann","tenant":"acme"}', '1796009682861', '1796009682923', 0, 0, '"acme"', 0.5, '{"calls":1,"tokens":7,"usd":0.5}', NULL);
INSERT INTO SCHEMA.run(num, id, agent, version, status, control, stuck, parked, owner, epoch, caller, created, ended, losses, asks, tenant, usd, usage, why) OVERRIDING SYSTEM VALUE VALUES('2', 'run_failed', 'fails', '1+8268ce9964f6', 'failed', NULL, NULL, 0, NULL, 1, '{}', '1796009682956', '1796009682957', 0, 0, NULL, 0, '{"calls":0,"tokens":0,"usd":0}', '{"reason":"orchestration.threw: order 12 is \"gone\"","failure":{"code":"orchestration.threw","message":"order 12 is \"gone\"","class":"internal","retryable":false}}');
INSERT INTO SCHEMA.run(num, id, agent, version, status, control, stuck, parked, owner, epoch, caller, created, ended, losses, asks, tenant, usd, usage, why) OVERRIDING SYSTEM VALUE VALUES('3', 'run_waits', 'asks', '1+8268ce9964f6', 'running', NULL, NULL, 1, NULL, 1, '{}', '1796009682989', NULL, 0, 1, NULL, 0, '{"calls":0,"tokens":0,"usd":0}', NULL);
INSERT INTO SCHEMA.entry(run, position, act, seq, at, flags, body, num) OVERRIDING SYSTEM VALUE VALUES('run_done', '1', 'act_run_done', 0, '1796009682861', 0, '["start","greets","1+af2778af0ecc",{"brief":{"instructions":"What is the weather in Zürich?"},"depth":0,"maxDepth":4,"limits":{"turns":20,"calls":256,"tasks":2000},"root":{"defaults":{"calls":256,"tasks":2000}}},null,{"user":"ann","tenant":"acme"}]', '1');
INSERT INTO SCHEMA.entry(run, position, act, seq, at, flags, body, num) OVERRIDING SYSTEM VALUE VALUES('run_done', '2', 'act_run_done', 1, '1796009682861', 0, '["model","turn/model","rule/greets",1,"QM56qHXABaWsoiC6f4zInL2n0lvjchYv2rtKnZE9mds"]', '2');
INSERT INTO SCHEMA.entry(run, position, act, seq, at, flags, body, num) OVERRIDING SYSTEM VALUE VALUES('run_done', '3', 'act_run_done', 2, '1796009682923', 0, '["answer","turn/model",["Hello from the old store","stop","rule/greets",[3,4,0.5]],"greets"]', '3');
INSERT INTO SCHEMA.entry(run, position, act, seq, at, flags, body, num) OVERRIDING SYSTEM VALUE VALUES('run_done', '4', 'act_run_done', 3, '1796009682923', 2, '["end","Hello from the old store",[["greets","rule/greets",1,3,4,null,0.5]]]', '4');
INSERT INTO SCHEMA.entry(run, position, act, seq, at, flags, body, num) OVERRIDING SYSTEM VALUE VALUES('run_failed', '1', 'act_run_failed', 0, '1796009682956', 0, '["start","fails","1+8268ce9964f6",{"brief":{"instructions":"go"},"depth":0,"maxDepth":4,"limits":{"turns":10000,"calls":256,"tasks":2000},"root":{"defaults":{"turns":10000,"calls":256,"tasks":2000}}},null,{}]', '5');
INSERT INTO SCHEMA.entry(run, position, act, seq, at, flags, body, num) OVERRIDING SYSTEM VALUE VALUES('run_failed', '2', 'act_run_failed', 1, '1796009682957', 2, '{"type":"activation.settled","outcome":{"status":"failed","failure":{"code":"orchestration.threw","message":"order 12 is \"gone\"","class":"internal","retryable":false}}}', '6');
INSERT INTO SCHEMA.entry(run, position, act, seq, at, flags, body, num) OVERRIDING SYSTEM VALUE VALUES('run_waits', '1', 'act_run_waits', 0, '1796009682989', 0, '["start","asks","1+8268ce9964f6",{"brief":{"instructions":"pay the bill"},"depth":0,"maxDepth":4,"limits":{"turns":10000,"calls":256,"tasks":2000},"root":{"defaults":{"turns":10000,"calls":256,"tasks":2000}}},null,{}]', '7');
INSERT INTO SCHEMA.entry(run, position, act, seq, at, flags, body, num) OVERRIDING SYSTEM VALUE VALUES('run_waits', '2', 'act_run_waits', 1, '1796009682989', 0, '{"type":"approval.requested","id":"apr_2ffc3350ad206164f0fc","path":["asks"],"tool":"pay","toolVersion":"1+8268ce9964f6","input":{"amount":7},"inputHash":"fb6632bd6651ff35747457d7d6aab3f5d91ff8521f5a79f7382c412da5ef081b","reason":"\"asks\" asks for approval of \"pay\"","risk":"medium","onTimeout":"reject","op":"ask","address":"approve/approval","contentKey":"sha256-1:Csfd5AYu59zz_M9YjEFzZW1dPtR6C5DNjWMldYj5yOM"}', '8');
INSERT INTO SCHEMA.question(num, id, run, act, address, key, kind, until, at, body, tenant) OVERRIDING SYSTEM VALUE VALUES('1', 'apr_2ffc3350ad206164f0fc', 'run_waits', 'act_run_waits', 'approve/approval', 'ask:approve/approval', 'approval', NULL, '1796009683003', '{"type":"approval.requested","id":"apr_2ffc3350ad206164f0fc","path":["asks"],"tool":"pay","toolVersion":"1+8268ce9964f6","input":{"amount":7},"inputHash":"fb6632bd6651ff35747457d7d6aab3f5d91ff8521f5a79f7382c412da5ef081b","reason":"\"asks\" asks for approval of \"pay\"","risk":"medium","onTimeout":"reject","op":"ask","address":"approve/approval","contentKey":"sha256-1:Csfd5AYu59zz_M9YjEFzZW1dPtR6C5DNjWMldYj5yOM"}', NULL);
INSERT INTO SCHEMA.account(act, run, body) VALUES('act_run_done', 'run_done', '{"limits":{"turns":20},"spent":{"turns":1,"tokens":7,"usd":0.5},"reserved":{"turns":0,"tokens":0,"usd":0},"ms":0,"unknown":0}');
INSERT INTO SCHEMA.account(act, run, body) VALUES('act_run_failed', 'run_failed', '{"limits":{"turns":10000,"byDefault":true},"spent":{"turns":0,"tokens":0,"usd":0},"reserved":{"turns":0,"tokens":0,"usd":0},"ms":0,"unknown":0}');
INSERT INTO SCHEMA.account(act, run, body) VALUES('act_run_waits', 'run_waits', '{"limits":{"turns":10000,"byDefault":true},"spent":{"turns":0,"tokens":0,"usd":0},"reserved":{"turns":0,"tokens":0,"usd":0},"ms":0,"unknown":0}');
INSERT INTO SCHEMA.tag(name, value, created, run) VALUES('user', '"ann"', '1796009682861', 'run_done');
INSERT INTO SCHEMA.tag(name, value, created, run) VALUES('tenant', '"acme"', '1796009682861', 'run_done');
INSERT INTO SCHEMA.meta(key, value) VALUES('program', 'reeve');
INSERT INTO SCHEMA.meta(key, value) VALUES('version', '5');
INSERT INTO SCHEMA.meta(key, value) VALUES('id', 'sto_1vc3knmec8dzz739');
INSERT INTO SCHEMA.meta(key, value) VALUES('floor', '0');
SELECT setval(pg_get_serial_sequence('SCHEMA.run', 'num'), 1000);
SELECT setval(pg_get_serial_sequence('SCHEMA.entry', 'num'), 1000);
SELECT setval(pg_get_serial_sequence('SCHEMA.inbox', 'position'), 1000);
SELECT setval(pg_get_serial_sequence('SCHEMA.question', 'num'), 1000);
