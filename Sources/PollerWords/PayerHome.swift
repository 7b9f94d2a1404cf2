/// Where the payer of one payment goes when they have read what became of it.
///
/// *Shape*: `https://shop.example/orders/A77`, which may be a universal link, or an address with a scheme
/// of the shop's own app, such as `acme-shop://orders/A77`. *Limits*: 2048 printable characters of
/// ASCII. What a browser runs, reads from the machine or sends in clear text is no such address.
package struct PayerHome: Hashable, Sendable {
    /// The address, as the shop has given it.
    package let url: String

    private static let bytesMax = 2048
    /// What is no app's, whoever says so; `intent` names any app and what to do with it.
    private static let foreign: Set<Substring> = [
        "about", "blob", "data", "file", "filesystem", "ftp", "http", "intent", "javascript",
        "mailto", "sms", "tel", "vbscript", "view-source", "ws", "wss",
    ]

    /// Takes an address; nil when it is none, or none that a payer may be sent to.
    package init?(_ text: String) {
        let bytes = text.utf8
        guard bytes.count <= Self.bytesMax,
            bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !Self.forbidden.contains($0) }),
            let mark = text.firstRange(of: "://"), mark.upperBound < text.endIndex
        else { return nil }
        let scheme = text[..<mark.lowerBound]
        // RFC 3986 §3.1; as a program compares it, whatever its case.
        guard let first = scheme.utf8.first, Self.isLetter(first),
            scheme.utf8.allSatisfy({ Self.isLetter($0) || Self.others.contains($0) }),
            !Self.foreign.contains(Substring(scheme.lowercased()))
        else { return nil }
        url = text
    }

    /// Whether any browser leads there: a mail is read on other machines than the one with the app.
    package var isOnTheWeb: Bool { url.lowercased().hasPrefix("https://") }

    private static let forbidden = Set("\"'<>\\`{}|^".utf8)
    private static let others = Set("0123456789+-.".utf8)

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20)
    }
}
