/** Commands of the package: each name, and the file below the checkout that becomes its program. */
export const commands: Readonly<Record<string, string>> = {}

/** What the package needs of whoever installs it, by its name here. */
export const peers = ['aws-cdk-lib', 'constructs'] as const
