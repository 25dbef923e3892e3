/** Widens the literal type of a neutral value: `0` to number, `false` to boolean, `''` to string. */
export type WidenedLiteral<T> = T extends number
  ? number
  : T extends boolean
    ? boolean
    : T extends ''
      ? string
      : T
