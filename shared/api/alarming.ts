/** Texts of log lines and errors that alarms match. The filter patterns of the deployment contain them. */
export const alarmingTexts = {
  /** logged when KMS refuses or is unreachable, so that nothing encrypted can be read or written; advice follows the text */
  keyring: 'the keyring of this cluster cannot be decrypted at the moment',
  /** logged once a minute while it lasts */
  peer: 'a cluster of the DR set is silent or lags behind',
  /** logged with each event sent to the event bus */
  role: 'the role of this cluster has changed',
  /** logged by a tree check that an operator started; finds items that DynamoDB deleted too early */
  tree: 'the hash tree does not match the items in the tables',
  /** logged by a comparison with the primary; also begins the log line after a sync */
  items: 'items differ from those of the primary',
  /** logged when only an operator can repair the items */
  givenUp: 'items still differ from the primary after three syncs, and are no longer synced',
  /** logged when an invalid head is read or would be written */
  head: 'the stored head of the journal is or would become invalid',
} as const
