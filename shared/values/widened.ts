/** The type of values whose neutral one is a literal: `0` stands for numbers, `false` for both truth values. */
export type Widened<T> = T extends number ? number : T extends boolean ? boolean : T extends '' ? string : T
