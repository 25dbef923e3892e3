// the build of the command replaces this name; a checkout does not define it
declare const BUILT_VERSION: string

/** Version of the built command. */
export const commandVersion = typeof BUILT_VERSION === 'string' ? BUILT_VERSION : 'not built'
