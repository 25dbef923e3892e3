import { type LocalFront, localFronts } from './other-fronts.ts'

/**
 * Returns the front end before the functions. `FRONT=loadBalancer npm run test:host` runs the same tests with
 * a load balancer as front end.
 */
export function frontNamed(name = process.env['FRONT'] ?? 'httpApi'): LocalFront {
  const found = localFronts.find(one => one === name)
  if (!found) throw new Error(`FRONT is one of ${localFronts.join(', ')}`)
  return found
}

/**
 * Reports whether the front end is a load balancer, which passes at most a megabyte to a function and refuses
 * larger requests with its own text.
 */
export const isBalanced = (): boolean => frontNamed() === 'loadBalancer'
