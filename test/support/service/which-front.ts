import { type LocalFront, localFronts } from '../../../infra/local/template/synth.ts'

/**
 * The front end before the functions. `FRONT=loadBalancer npm run test:host` runs the same tests with another front
 * end.
 */
export function frontNamed(name = process.env['FRONT'] ?? 'httpApi'): LocalFront {
  const found = localFronts.find(one => one === name)
  if (!found) throw new Error(`FRONT is one of ${localFronts.join(', ')}`)
  return found
}

/** A load balancer passes at most a megabyte, and refuses more with its own text. */
export const isBalanced = (): boolean => frontNamed() === 'loadBalancer'
