import Foundation

/// Makes text fit for a mail header.
enum MailHeader {
    /// An encoded word is at most 75 characters (RFC 2047 §2): 12 of frame, 60 of base64.
    private static let wordBytesMax = 45

    /// The text as it is when it is short printable ASCII, else as RFC 2047 encoded words, folded.
    ///
    /// Control characters are dropped: a line break would begin another header.
    static func encode(_ text: String) -> String {
        let clean = String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
            )
        )
        let isPlain = clean.utf8.allSatisfy { $0 < 0x7F } && clean.utf8.count <= 60
        guard !isPlain || clean.contains("=?") else { return clean }
        var words: [[UInt8]] = [[]]
        for character in clean {
            let bytes = Array(String(character).utf8.prefix(wordBytesMax))
            if words[words.count - 1].count + bytes.count > wordBytesMax { words.append([]) }
            words[words.count - 1] += bytes
        }
        return words.map { "=?utf-8?B?\(Data($0).base64EncodedString())?=" }
            .joined(separator: "\r\n ")
    }

    /// `Name <address>` or the bare address.
    static func mailbox(_ sender: MailSender) -> String {
        guard !sender.name.isEmpty else { return sender.address.description }
        let isAtom = sender.name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: " "), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        let name =
            isAtom && sender.name.utf8.count <= 60
            ? sender.name
            : "=?utf-8?B?\(Data(sender.name.utf8.prefix(wordBytesMax)).base64EncodedString())?="
        return "\(name) <\(sender.address)>"
    }
}
