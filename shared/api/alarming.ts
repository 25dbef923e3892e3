/** What log lines and errors say that alarms of a deployment count: the patterns of their filters hold these texts. */
export const alarming = {
  /** nothing that is encrypted can be read or written, because KMS refuses or cannot be reached; what to do follows it */
  keyring: 'the keyring of this cluster cannot be decrypted at the moment',
  /** once a minute, as long as it lasts */
  peer: 'a cluster of the DR set is silent or behind',
  /** with each event that the event bus is told */
  role: 'the role of this cluster has changed',
  /** by a check that somebody asked for: what the engine deleted by itself, before its time, is found so */
  tree: 'the tree is not that of what stands in the tables',
  /** by a comparison with the primary; the same words begin the line after a sync */
  items: 'items are not as the primary has them',
  /** nothing but an operator mends it */
  givenUp: 'items do not stay in line with the primary, and are given up',
  /** whenever such a head is read, or would be made */
  head: 'the head of the journal is not as its rules say',
} as const
