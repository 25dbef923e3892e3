import { disaster, type Rehearsed, startRehearsal, switchOver } from './drill.ts'

const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

const told = (what: string, { longestGap, logins, lost, mostAtOnce }: Rehearsed): void =>
  print(
    `${what}\n  nobody served for   ${longestGap} ms at most\n  primaries at once   ${mostAtOnce} at most\n  logins              ${logins}, of which ${lost.length} were lost\n`,
  )

/** Rehearses a planned switch, the way back, and a disaster, on two clusters of this machine that keep nothing. */
async function main(): Promise<void> {
  const rehearsal = await startRehearsal({ port: 0, memory: true }, print)
  try {
    const { east, west } = rehearsal
    told('Planned switch, east to west', await switchOver(rehearsal, { from: east, to: west }))
    told('Planned switch, west to east', await switchOver(rehearsal, { from: west, to: east }))
    const found = await disaster(rehearsal)
    told('Disaster: east is cut off, and west promoted by force', found)
    const named = new Set(found.reported)
    print(
      `The report of east names ${found.reported.length} logins: ${found.lost.every(one => named.has(one)) ? 'all that were lost' : 'NOT all that were lost'}.`,
    )
  } finally {
    await rehearsal.close()
  }
}

await main()
