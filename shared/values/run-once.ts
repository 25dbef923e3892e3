/** Returns a function that runs some work once, at its first call. */
export function runOnce<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined
  return () => {
    done ??= work()
    return done
  }
}
