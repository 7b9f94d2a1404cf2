/// An error that Redis, or one of our scripts, replied.
///
/// `-NOSCRIPT No matching script.` has the code `NOSCRIPT` and the message `No matching script.`.
package struct RedisReplyError: Error, Sendable, Hashable {
    /// The first word, for example `ERR`, `WRONGTYPE`, `NOSCRIPT`, `READONLY` or `LEASELOST`.
    package let code: String
    /// What follows the code; may be empty.
    package let message: String

    /// Makes an error from its parts.
    package init(code: String, message: String) {
        self.code = code
        self.message = message
    }

    /// Splits the text of an error reply at its first space.
    init(line: String) {
        let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        self.code = parts.first.map(String.init) ?? ""
        self.message = parts.count > 1 ? String(parts[1]) : ""
    }
}

extension RedisReplyError: CustomStringConvertible {
    /// The reply as Redis sent it.
    package var description: String { message.isEmpty ? code : "\(code) \(message)" }
}
