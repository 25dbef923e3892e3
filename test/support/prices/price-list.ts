/**
 * List prices of us-east-1 in USD, as AWS published them in November 2025, without free tier. Pages and
 * benchmarks use these prices.
 */
export const listPrices = {
  /** a request to an HTTP API */
  gatewayRequest: 1e-6,
  /** an invocation, and a GB-second on arm64 */
  invocation: 0.2e-6,
  gigabyteSecond: 0.0000133334,
  /** read and write units of DynamoDB on demand */
  readUnit: 0.125e-6,
  writeUnit: 0.625e-6,
  /** a GB of function logs */
  logGigabyte: 0.5,
  /** a KMS call, and a key per month */
  kmsCall: 3e-6,
  kmsKey: 1,
  /** per month: a time series of a custom metric with data in every hour */
  metricSeries: 0.3,
  /** per month: a metric of an alarm with periods of a minute or more */
  alarmMetric: 0.1,
  /** per month */
  dashboard: 3,
} as const
