import CZlib
import Foundation
import JSONText
import NIOHTTP1
import PollerNet

/// The JSON of an answer as UTF-8, whatever its server calls it.
///
/// *Problem*: the truth about a payment comes from servers of all ages. They send a byte order mark, `text/html`,
/// Latin-1, UTF-16, or a body that is packed although nobody has asked for it; every usual client reads these.
///
/// *Approach*: the content decides. Headers say how a body is packed, and in which charset a text is that is no UTF-8;
/// the content type is only named in the error when there is no JSON.
///
/// *Source*: RFC 9110 §8.4 (content codings), RFC 8259 §8.1 (a parser may ignore a byte order mark).
enum JSONAnswer {
    /// Why an answer cannot be read, for an operator; never with its content.
    struct Unreadable: Error, Equatable {
        let reason: String
    }

    /// Text names of single-byte charsets, which all mean Windows-1252: <https://encoding.spec.whatwg.org/#names-and-labels>.
    private static let latin: Set<String> = [
        "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1", "l1", "windows-1252",
        "cp1252",
        "us-ascii", "ascii",
    ]

    /// The answer's body, unpacked, as UTF-8 without a byte order mark.
    ///
    /// `most` bounds what it may be unpacked.
    static func bytes(of answer: HTTPAnswer, most: Int) throws(Unreadable) -> [UInt8] {
        let codings = answer.headers[canonicalForm: "content-encoding"].map { $0.lowercased() }
        let type = answer.headers.first(name: "content-type")
        return try text(unpacked(answer.body, codings, most), type)
    }

    /// Why there is no JSON in an answer that could be read as text.
    static func reason(_ answer: HTTPAnswer, _ json: [UInt8], _ error: JSONError) -> String {
        let type = answer.headers.first(name: "content-type")
        guard !json.isEmpty else { return "the answer is empty" }
        guard !ContentType.isJSON(type), let type else { return "the answer is not JSON: \(error)" }
        return "the content type is \(mediaType(type)), and the answer is not JSON: \(error)"
    }

    /// Undoes the codings, the last one first; what begins as gzip does is gzip, whether a header says so or not.
    private static func unpacked(
        _ body: [UInt8],
        _ codings: [String],
        _ most: Int
    ) throws(Unreadable) -> [UInt8] {
        var bytes = body
        for coding in codings.reversed() where coding != "identity" && !coding.isEmpty {
            switch coding {
            case "gzip", "x-gzip", "deflate": bytes = try inflated(bytes, coding, most)
            default:
                throw Unreadable(
                    reason:
                        "the answer is packed as \(coding.prefix(32)), which was not asked for: gzip and "
                        + "deflate are understood"
                )
            }
        }
        return isGzip(bytes) ? try inflated(bytes, "gzip", most) : bytes
    }

    /// No JSON begins so.
    private static func isGzip(_ bytes: [UInt8]) -> Bool { bytes.starts(with: [0x1F, 0x8B]) }

    private static func inflated(
        _ bytes: [UInt8],
        _ coding: String,
        _ most: Int
    ) throws(Unreadable) -> [UInt8] {
        // Some proxies unpack a body and leave the header.
        if bytes.isEmpty || coding != "deflate" && !isGzip(bytes) { return bytes }
        // One more than is allowed tells a body of that length from a longer one.
        let capacity = most + 1
        var length = 0
        let output = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { target, count in
            length = unsafe bytes.withUnsafeBufferPointer { source in
                unsafe czlib_inflate(
                    source.baseAddress,
                    UInt32(clamping: source.count),
                    target.baseAddress,
                    UInt32(clamping: capacity)
                )
            }
            count = max(length, 0)
        }
        guard length >= 0 else {
            throw Unreadable(reason: "the answer is packed as \(coding), and damaged or cut short")
        }
        guard output.count <= most else {
            throw Unreadable(reason: "the answer exceeds \(most) bytes once it is unpacked")
        }
        return output
    }

    /// A text as UTF-8.
    private static func text(_ bytes: [UInt8], _ type: String?) throws(Unreadable) -> [UInt8] {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            return try text(Array(bytes.dropFirst(3)), type)
        }
        let isLittle = bytes.starts(with: [0xFF, 0xFE])
        if isLittle || bytes.starts(with: [0xFE, 0xFF]) {
            let encoding: String.Encoding = isLittle ? .utf16LittleEndian : .utf16BigEndian
            guard let text = String(bytes: bytes.dropFirst(2), encoding: encoding) else {
                throw Unreadable(reason: "the answer begins as UTF-16 and is none")
            }
            return Array(text.utf8)
        }
        if String(validating: bytes, as: UTF8.self) != nil { return bytes }
        let charset = type.flatMap { Self.charset($0) }
        guard let charset, latin.contains(charset) else {
            throw Unreadable(
                reason: "the answer is not UTF-8, and "
                    + (charset.map { "its charset \($0.prefix(32)) is not known" }
                        ?? "its content type names no charset")
            )
        }
        // Five bytes are not in Windows-1252; in Latin-1 each byte is something.
        let text =
            String(bytes: bytes, encoding: .windowsCP1252)
            ?? String(bytes: bytes, encoding: .isoLatin1)
        return Array((text ?? "").utf8)
    }

    /// `text/html` of `text/html; charset=utf-8`.
    private static func mediaType(_ type: String) -> String {
        String(type.prefix { $0 != ";" && $0 != " " }.prefix(64))
    }

    /// The charset of a content type, in lower case; nil where it names none.
    private static func charset(_ type: String) -> String? {
        for part in type.lowercased().split(separator: ";").dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1).map {
                $0.filter { !$0.isWhitespace && $0 != "\"" }
            }
            if pair.count == 2, pair[0] == "charset" { return pair[1] }
        }
        return nil
    }
}
