/** Nothing has to be configured for Reeve. */
export default {}
