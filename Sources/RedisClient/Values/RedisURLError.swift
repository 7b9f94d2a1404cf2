/// Why a Redis URL cannot be used; the description says what to write instead.
///
/// It never repeats the URL, which may hold a password.
package struct RedisURLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong and what to do.
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
