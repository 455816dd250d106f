/** A whole number with its thousands apart. */
const whole = new Intl.NumberFormat('en-US')

export const countText = (count: number): string => whole.format(count)
