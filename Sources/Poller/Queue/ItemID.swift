import Crypto

/// The short key of an item in a queue: 12 characters that two items share only by a miracle.
///
/// Twelve base64url characters are 72 bits of SHA-256 over the item's own key. Among 100 million
/// items a collision has a chance of 1 in 900,000, and the store compares the source it holds
/// before it believes. Twelve bytes fit the smallest allocation Redis makes for a member.
package struct ItemID: Hashable, Sendable, CustomStringConvertible {
    /// Twelve characters of base64url.
    package let description: String

    /// The id of the item that these parts name; the parts must not contain NUL.
    package init(of parts: String...) {
        description = Digest.base64url(of: parts, bytes: 9)
    }

    /// Wraps an id read back from a store.
    package init(unchecked text: String) {
        description = text
    }
}

/// Names derived from content, so that whoever makes one again makes the same.
enum Digest {
    /// The first `bytes` bytes of SHA-256 over the parts joined by NUL, as base64url.
    static func base64url(of parts: [String], bytes: Int) -> String {
        var hash = SHA256()
        for (index, part) in parts.enumerated() {
            if index > 0 { hash.update(data: [0]) }
            hash.update(data: Array(part.utf8))
        }
        return Base64URL.encode(hash.finalize().prefix(bytes))
    }
}
