/** A size that is small in `npm test`, and the other one in `npm run test:long`. */
export const sized = (usual: number, long: number): number => (process.env['LONG'] ? long : usual)
