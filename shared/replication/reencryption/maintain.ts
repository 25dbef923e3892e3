import type { Ports } from '../../ports.ts'
import { isTermWorkDue } from './decide.ts'
import { termFacts } from './facts.ts'

/** Starts the re-encryption job if there is work that no run does: once a minute. */
export async function maintainReencryption(
  ports: Pick<Ports, 'store' | 'clock' | 'deployment' | 'background'>,
): Promise<void> {
  const facts = await termFacts(ports)
  if (facts && isTermWorkDue(facts)) await ports.background.start({ job: 'reencrypt' })
}
