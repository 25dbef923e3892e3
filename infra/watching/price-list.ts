/** List prices of us-east-1, USD, as AWS published them in November 2025; no free tier. Pages and benches price by these. */
export const listPrices = {
  /** a request to an HTTP API */
  gatewayRequest: 1e-6,
  /** an invocation, and a GB-second on arm64 */
  invocation: 0.2e-6,
  gigabyteSecond: 0.0000133334,
  /** read and write units of DynamoDB on demand */
  readUnit: 0.125e-6,
  writeUnit: 0.625e-6,
  /** a GB of logs that functions write */
  logGigabyte: 0.5,
  /** a call of KMS, and a key for a month */
  kmsCall: 3e-6,
  kmsKey: 1,
  /** for a month: a series of a metric of our own that has something in every hour */
  metricSeries: 0.3,
  /** for a month: a metric of an alarm, at periods of a minute and more */
  alarmMetric: 0.1,
  /** for a month */
  dashboard: 3,
} as const
