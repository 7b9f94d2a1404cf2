/// One command and its arguments.
///
/// Describing a command shows its name and the number of arguments, never their values: they may
/// be passwords or customers' data.
package struct RedisCommand: Sendable, Hashable {
    /// The command's name, for example `SET`.
    package let name: String
    /// What follows the name.
    ///
    /// A subcommand (`SCRIPT LOAD`) is the first argument.
    package let arguments: [RedisArgument]

    /// Makes a command; `name` must not be empty.
    package init(_ name: String, _ arguments: [RedisArgument] = []) {
        precondition(!name.isEmpty, "a command without a name cannot be sent")
        self.name = name
        self.arguments = arguments
    }
}

extension RedisCommand: CustomStringConvertible, CustomDebugStringConvertible {
    /// The name and the number of arguments.
    package var description: String { "\(name) (\(arguments.count) arguments)" }
    /// The same as ``description``.
    package var debugDescription: String { description }
}
