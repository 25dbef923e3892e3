/** A size that is small in `npm test`, and the other one in `npm run test:long`. */
export const sized = <T>(usual: T, long: T): T => (process.env['LONG'] ? long : usual)
