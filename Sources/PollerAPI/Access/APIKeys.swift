import Crypto
package import Poller

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The keys that may use the API: one a line in a file, `#` begins a comment line.
///
/// Only SHA-256 digests stay in memory, and a candidate is compared with all of them in constant
/// time, so neither a core dump nor a stopwatch tells a key. One round of SHA-256 without salt is enough:
/// keys are long and random, so there is nothing to guess that a slow hash would slow down.
package struct APIKeys: Sendable, CustomStringConvertible {
    /// More keys than this are a mistake: every request is compared with each.
    package static let countMax = 1000
    /// A file with as many keys of the greatest length, and comments.
    private static let fileBytesMax = 1_048_576

    private let digests: [SHA256Digest]

    /// No keys at all: the API must then listen on loopback only.
    package static let none = APIKeys(digests: [])

    private init(digests: [SHA256Digest]) {
        self.digests = digests
    }

    /// Reads a file.
    ///
    /// Errors: ``InvalidInput`` for the field `api_keys_file`, which never quotes a key.
    package init(contentsOfFile path: String) throws(InvalidInput) {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw InvalidInput(
                field: "api_keys_file",
                message: "cannot be read at \(path): check that it exists and who may read it"
            )
        }
        guard data.count <= Self.fileBytesMax, let text = String(bytes: data, encoding: .utf8)
        else {
            throw InvalidInput(
                field: "api_keys_file",
                message: "must be UTF-8 text of at most \(Self.fileBytesMax) bytes"
            )
        }
        try self.init(text: text)
    }

    /// Reads the text of such a file.
    ///
    /// A file without any key is refused: an operator who names a file wants the API closed, and
    /// an empty one would open it.
    package init(text: String) throws(InvalidInput) {
        var digests: [SHA256Digest] = []
        for (index, line) in text.split(
            omittingEmptySubsequences: false,
            whereSeparator: \.isNewline
        ).enumerated() {
            let key = line.drop { $0 == " " || $0 == "\t" }
                .reversed().drop { $0 == " " || $0 == "\t" }.reversed()
            guard let first = key.first, first != "#" else { continue }
            let bytes = Array(String(key).utf8)
            guard (20...200).contains(bytes.count), bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
            else {
                throw InvalidInput(
                    field: "api_keys_file",
                    message: "line \(index + 1): a key is 20 to 200 printable ASCII characters "
                        + "without spaces"
                )
            }
            digests.append(SHA256.hash(data: bytes))
        }
        guard !digests.isEmpty, digests.count <= Self.countMax else {
            throw InvalidInput(
                field: "api_keys_file",
                message: "must hold 1 to \(Self.countMax) keys, one a line"
            )
        }
        self.digests = digests
    }

    /// Whether there is no key.
    package var isEmpty: Bool { digests.isEmpty }

    /// What a key is called that may use the API, by its place in the file, such as `key 3`; nil for
    /// what is no key, and where there are none that is everything.
    package func name(of candidate: some StringProtocol) -> String? {
        guard candidate.utf8.count <= 200 else { return nil }
        let digest = SHA256.hash(data: Array(candidate.utf8))
        var found: Int?
        // Each is compared in constant time, and every one is, so the time does not tell which fitted.
        for (index, known) in digests.enumerated() where known == digest { found = index }
        return found.map { "key \($0 + 1)" }
    }

    package var description: String { "\(digests.count) keys (redacted)" }
}
