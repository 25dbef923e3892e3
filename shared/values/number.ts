const DECIMAL = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/**
 * Reports whether a decimal number is exact as a double: no digit is lost, and an integer is safe. Inexact numbers are rejected, not
 * rounded. @see docs/spec/transport.md#bodies
 */
export function isExactNumber(literal: string): boolean {
  const value = Number(literal)
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) return false
  const [written, kept] = [digitsOf(literal), digitsOf(String(value))]
  return written?.digits === kept?.digits && written?.exponent === kept?.exponent
}

/** Returns the significant digits of a decimal number and the power of ten of the last digit. */
function digitsOf(literal: string): { digits: string; exponent: number } | undefined {
  const [, whole = '', fraction = '', power = '0'] = DECIMAL.exec(literal) ?? []
  const all = whole + fraction
  const digits = all.slice(leadingZeros(all), all.length - trailingZeros(all))
  if (digits === '') return { digits, exponent: 0 }
  return { digits, exponent: Number(power) - fraction.length + trailingZeros(all) }
}

function leadingZeros(text: string): number {
  let count = 0
  while (text[count] === '0') count += 1
  return count
}

function trailingZeros(text: string): number {
  let count = 0
  while (count < text.length && text[text.length - 1 - count] === '0') count += 1
  return count
}
