/** Days before the end of a licence or a certificate from which on operators are told. */
export const NOTICE_DAYS = 30

export const DAY_MS = 86_400_000
