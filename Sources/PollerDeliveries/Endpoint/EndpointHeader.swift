package import PollerIdentity

/// A custom header of an endpoint's messages, whose value is never shown.
package struct EndpointHeader: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The maximum number of headers per endpoint, enough for a credential and some routing.
    package static let countMax = 20
    /// The size limit of a value in bytes, enough for a bearer token with a few claims.
    package static let valueBytesMax = 2048

    /// The names and prefixes that HTTP, the connection or this system use.
    private static let reserved: Set<String> = [
        "host", "content-length", "content-type", "content-encoding", "transfer-encoding",
        "connection", "keep-alive", "te", "trailer", "upgrade", "expect", "http2-settings",
        "user-agent", "accept-encoding", "cookie", "origin", "referer",
    ]
    private static let reservedPrefixes = ["webhook-", "proxy-", "sec-", ":"]

    /// The name as given; compared without case.
    package let name: String
    package let value: String

    /// Checks that both are valid and harmless in a request.
    package init(_ name: String, _ value: String) throws(InvalidInput) {
        let lower = name.lowercased()
        guard (1...64).contains(name.utf8.count),
            name.utf8.allSatisfy({ byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            })
        else {
            throw InvalidInput(
                "headers",
                "has a name that is not 1 to 64 letters, digits, '-' or '_'"
            )
        }
        guard !Self.reserved.contains(lower),
            !Self.reservedPrefixes.contains(where: lower.hasPrefix)
        else {
            throw InvalidInput(
                "headers.\(name)",
                "is set by HTTP or by the sender; choose another name"
            )
        }
        guard value.utf8.count <= Self.valueBytesMax,
            value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
        else {
            throw InvalidInput(
                "headers.\(name)",
                "must be at most \(Self.valueBytesMax) printable ASCII characters"
            )
        }
        self.name = name
        self.value = value
    }

    /// Rejects too many headers, and duplicate names.
    package static func check(_ headers: [EndpointHeader]) throws(InvalidInput) {
        guard headers.count <= countMax else {
            throw InvalidInput(
                "headers",
                "names \(headers.count) headers; at most \(countMax) are allowed"
            )
        }
        var seen: Set<String> = []
        for header in headers where !seen.insert(header.name.lowercased()).inserted {
            throw InvalidInput("headers.\(header.name)", "is set twice")
        }
    }

    /// The name only.
    package var description: String { name }

    /// Shows the name only.
    package var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}
