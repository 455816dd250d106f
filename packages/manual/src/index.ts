/** The manual: the documentation of an installed Reeve as data. Owns: the door of the package. */
export {
  readManual,
  pageOf,
  exampleOf,
  sectionsOf,
  type Example,
  type Manual,
  type ManualPage,
  type Section,
} from './pages.ts'
export { ManualSearch, type Found } from './search.ts'
export { fullText } from './full-text.ts'
