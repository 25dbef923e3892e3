/** What log lines and errors say that alarms of a deployment count: the patterns of their filters hold these texts. */
export const alarming = {
  /** nothing that is encrypted can be read or written: KMS refuses, or cannot be reached */
  keyring: 'the keyring of this cluster cannot be decrypted at the moment',
  /** once a minute, as long as it lasts */
  peer: 'a cluster of the DR set is silent or behind',
  /** once an hour, as long as it lasts */
  licence: 'the licence ends soon, or has ended',
  /** whenever such a head is read, or would be made */
  head: 'the head of the journal is not as its rules say',
} as const
