/// The process that holds a lease: random for each process start, so that a token reused after
/// Redis lost its last writes still does not fit the process that had it before.
package struct OwnerID: Hashable, Sendable, CustomStringConvertible {
    /// Eleven characters of base64url.
    package let description: String

    /// A new owner from 64 random bits.
    package init(using chance: inout some RandomNumberGenerator) {
        let bits = UInt64.random(in: .min ... .max, using: &chance)
        description = Base64URL.encode((0..<8).map { UInt8(truncatingIfNeeded: bits >> ($0 * 8)) })
    }

    /// Wraps an owner read back from a store.
    package init(unchecked text: String) {
        description = text
    }
}
