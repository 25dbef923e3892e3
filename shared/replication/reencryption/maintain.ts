import type { Ports } from '../../ports.ts'
import { isTermWorkDue } from './decide.ts'
import { termFacts } from './facts.ts'

/** Starts the job that encrypts anew, where there is something to do and nobody does it: once a minute. */
export async function maintainReencryption(
  ports: Pick<Ports, 'store' | 'clock' | 'deployment' | 'background'>,
): Promise<void> {
  const facts = await termFacts(ports)
  if (facts && isTermWorkDue(facts)) await ports.background.start({ job: 'reencrypt' })
}
