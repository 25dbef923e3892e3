/** A text of an error, or a function that returns it from the parameters of the error. */
type ErrorText<P extends unknown[]> = string | ((...parameters: P) => string)

/**
 * A function that declares an error by what is wrong and what to do next. Functions of this type are marked as free of side
 * effects, so that the bundler drops errors that a Lambda does not use.
 */
export type DeclareError<E> = <P extends unknown[] = []>(
  wrong: ErrorText<P>,
  next: ErrorText<P>,
) => (...parameters: P) => E

/** Returns a function that builds an error with the message "`wrong`; `next`". */
export const declareError =
  <P extends unknown[], E>(
    create: (message: string) => E,
    ...texts: [wrong: ErrorText<P>, next: ErrorText<P>]
  ) =>
  (...parameters: P): E =>
    create(texts.map(text => (typeof text === 'string' ? text : text(...parameters))).join('; '))
