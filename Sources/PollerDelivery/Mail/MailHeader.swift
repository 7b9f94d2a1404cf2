import Foundation
import Poller

/// Makes text fit for a mail header.
enum MailHeader {
    /// An encoded word is at most 75 characters (RFC 2047 §2): 12 of frame, 60 of base64.
    private static let wordBytesMax = 45

    /// The text as it is when it is short printable ASCII, else as RFC 2047 encoded words, folded.
    ///
    /// Control characters are dropped: a line break would begin another header.
    static func encode(_ text: String) -> String {
        let clean = clean(text)
        let isPlain = clean.utf8.allSatisfy { $0 < 0x7F } && clean.utf8.count <= 60
        guard !isPlain || clean.contains("=?") else { return clean }
        return encodedWords(clean)
    }

    /// `Name <address>` or the bare address.
    static func mailbox(_ sender: MailSender) -> String {
        let name = clean(sender.name)
        guard !name.isEmpty else { return sender.address.description }
        // What is no atom (RFC 5322 §3.2.3) is encoded, which spares us quoting.
        let isAtom =
            name.utf8.count <= 60
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: " "), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
        return "\(isAtom ? name : encodedWords(name)) <\(sender.address)>"
    }

    private static func clean(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
            )
        )
    }

    private static func encodedWords(_ text: String) -> String {
        var words: [[UInt8]] = [[]]
        for character in text {
            let bytes = Array(String(character).utf8.prefix(wordBytesMax))
            if words[words.count - 1].count + bytes.count > wordBytesMax { words.append([]) }
            words[words.count - 1] += bytes
        }
        return words.map { "=?utf-8?B?\(Data($0).base64EncodedString())?=" }
            .joined(separator: "\r\n ")
    }
}
