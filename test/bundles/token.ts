/** The token of the application that is bundled. */
export const token = 'a-token-of-this-test-that-guards-nothing'
