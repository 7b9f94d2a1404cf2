/// The link that leads a payer from our page back to the shop.
///
/// *Shape*: `https://shop.example/orders/A77`, which may be a universal link, or a link to the shop's app, such as
/// `acme-shop://orders/A77`. *Limits*: 2048 printable ASCII characters. Schemes that run code, read local files or send
/// unencrypted data are rejected.
package struct ShopReturnLink: Hashable, Sendable {
    /// The link as the shop gave it.
    package let url: String

    private static let bytesMax = 2048
    /// Schemes that never belong to the shop's app.
    ///
    /// `intent` could start any app with any action.
    private static let foreign: Set<Substring> = [
        "about", "blob", "data", "file", "filesystem", "ftp", "http", "intent", "javascript",
        "mailto", "sms", "tel", "vbscript", "view-source", "ws", "wss",
    ]

    /// Validates a link; `nil` when it is malformed or its scheme is rejected.
    package init?(_ text: String) {
        let bytes = text.utf8
        guard bytes.count <= Self.bytesMax,
            bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !Self.forbidden.contains($0) }),
            let mark = text.firstRange(of: "://"), mark.upperBound < text.endIndex
        else { return nil }
        let scheme = text[..<mark.lowerBound]
        // RFC 3986 §3.1: schemes are compared without regard to case.
        guard let first = scheme.utf8.first, Self.isLetter(first),
            scheme.utf8.allSatisfy({ Self.isLetter($0) || Self.others.contains($0) }),
            !Self.foreign.contains(Substring(scheme.lowercased()))
        else { return nil }
        url = text
    }

    /// Whether every browser can open the link.
    ///
    /// Emails may be read on a device without the shop's app.
    package var opensInAnyBrowser: Bool { url.lowercased().hasPrefix("https://") }

    private static let forbidden = Set("\"'<>\\`{}|^".utf8)
    private static let others = Set("0123456789+-.".utf8)

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20)
    }
}
