import CZlib
import Foundation
import JSONText
import NIOHTTP1
import PollerNet

/// Extracts the JSON of a response as UTF-8, regardless of its headers.
///
/// *Problem*: payment states come from servers of all ages. They send a byte order mark, `text/html`, Latin-1,
/// UTF-16, or a compressed body that was not requested. Every common client can read these.
///
/// *Approach*: the content decides. Headers only name the compression of a body and the charset of a text that is not
/// UTF-8. The content type is only mentioned in the error if the body is not JSON.
///
/// *Source*: RFC 9110 §8.4 (content codings), RFC 8259 §8.1 (a parser may ignore a byte order mark).
enum JSONAnswer {
    /// The reason why a response cannot be read, for operators; never contains the response.
    struct Unreadable: Error, Equatable {
        let reason: String
    }

    /// Labels of single-byte charsets that all mean Windows-1252:
    /// <https://encoding.spec.whatwg.org/#names-and-labels>.
    private static let latin: Set<String> = [
        "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1", "l1", "windows-1252",
        "cp1252",
        "us-ascii", "ascii",
    ]

    /// Returns the body of a response, decompressed, as UTF-8 without a byte order mark.
    ///
    /// `most` limits the decompressed size in bytes.
    static func bytes(of answer: HTTPAnswer, most: Int) throws(Unreadable) -> [UInt8] {
        let codings = answer.headers[canonicalForm: "content-encoding"].map { $0.lowercased() }
        let type = answer.headers.first(name: "content-type")
        return try text(unpacked(answer.body, codings, most), type)
    }

    /// Returns the reason why a readable text is not JSON.
    static func reason(_ answer: HTTPAnswer, _ json: [UInt8], _ error: JSONError) -> String {
        let type = answer.headers.first(name: "content-type")
        guard !json.isEmpty else { return "the answer is empty" }
        guard !ContentType.isJSON(type), let type else { return "the answer is not JSON: \(error)" }
        return "the content type is \(mediaType(type)), and the answer is not JSON: \(error)"
    }

    /// Undoes the content codings, last one first.
    ///
    /// A body that starts like gzip is decompressed even if no header says so.
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
                        "the response is encoded as \(coding.prefix(32)), which was not "
                        + "requested: gzip and "
                        + "deflate are supported"
                )
            }
        }
        return isGzip(bytes) ? try inflated(bytes, "gzip", most) : bytes
    }

    /// Whether the bytes start with the magic number of gzip, which no JSON text starts with.
    private static func isGzip(_ bytes: [UInt8]) -> Bool { bytes.starts(with: [0x1F, 0x8B]) }

    private static func inflated(
        _ bytes: [UInt8],
        _ coding: String,
        _ most: Int
    ) throws(Unreadable) -> [UInt8] {
        // Some proxies decompress a body but keep the header.
        if bytes.isEmpty || coding != "deflate" && !isGzip(bytes) { return bytes }
        // One extra byte distinguishes a body of the maximum length from a longer one.
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
            throw Unreadable(reason: "the response, encoded as \(coding), is damaged or truncated")
        }
        guard output.count <= most else {
            throw Unreadable(reason: "the answer exceeds \(most) bytes once it is unpacked")
        }
        return output
    }

    /// Converts a text to UTF-8.
    private static func text(_ bytes: [UInt8], _ type: String?) throws(Unreadable) -> [UInt8] {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            return try text(Array(bytes.dropFirst(3)), type)
        }
        let isLittle = bytes.starts(with: [0xFF, 0xFE])
        if isLittle || bytes.starts(with: [0xFE, 0xFF]) {
            let encoding: String.Encoding = isLittle ? .utf16LittleEndian : .utf16BigEndian
            guard let text = String(bytes: bytes.dropFirst(2), encoding: encoding) else {
                throw Unreadable(reason: "the response begins like UTF-16 but is invalid")
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
        // Windows-1252 leaves five bytes undefined. Latin-1 defines every byte.
        let text =
            String(bytes: bytes, encoding: .windowsCP1252)
            ?? String(bytes: bytes, encoding: .isoLatin1)
        return Array((text ?? "").utf8)
    }

    /// Returns the media type of a content type: `text/html` of `text/html; charset=utf-8`.
    private static func mediaType(_ type: String) -> String {
        String(type.prefix { $0 != ";" && $0 != " " }.prefix(64))
    }

    /// Returns the charset of a content type in lower case, or `nil` if it names none.
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
