/** The event store of a distributed engine, on PostgreSQL or SQLite. */
export { openEventStore, type EventStoreOptions } from './store.ts'
export { holderOf } from './word.ts'
export type {
  AccountOp,
  Birth,
  Claimed,
  Commit,
  Committed,
  Control,
  EventStore,
  InboxRow,
  NewBirth,
  NewFork,
  NewPost,
  NewQuestion,
  NewRun,
  OutsidePost,
  Pulled,
  Sentinel,
  StoredAccount,
} from './port.ts'
