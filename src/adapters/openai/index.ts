/** placeholder */
export const openai = (): never => undefined as never
