import ArgumentParser
import Foundation
import PollerWire

/// Validated, distinct IDs from the command line and files.
///
/// All IDs are validated before any is sent, so a mistake in line 99,999 has no partial effect.
struct SourceList {
    /// A million ids of 64 characters.
    private static let fileBytesMax = 67_108_864
    private static let errorsListedMax = 10
    /// Stripe's prefixes and the kinds they stand for.
    static let kinds: [(prefix: String, kind: Kind)] = [
        ("src_", .source), ("pi_", .paymentIntent), ("seti_", .setupIntent), ("ch_", .charge),
        ("py_", .charge),
    ]

    /// The distinct IDs in their given order.
    private(set) var ids: [String] = []
    /// The number of repeated IDs.
    private(set) var duplicates = 0

    private var seen: Set<String> = []
    private var errors: [String] = []
    private var errorsTotal = 0

    /// Collects ids.
    ///
    /// - `files`: one ID per line, `#` starts a comment; `-` is standard input. Lines end with LF, CRLF or CR, and a
    ///   UTF-8 byte order mark is ignored.
    /// - `needsPrefix`: whether each ID must have a prefix of Stripe's.
    init(arguments: [String], files: [String], needsPrefix: Bool) throws {
        for id in arguments { add(id, from: "argument", needsPrefix: needsPrefix) }
        for file in files { try add(file: file, needsPrefix: needsPrefix) }
        guard errorsTotal == 0 else {
            if errorsTotal > errors.count {
                errors.append("… and \(errorsTotal - errors.count) more")
            }
            throw ValidationError(
                "nothing was enqueued; correct these ids first:\n" + errors.joined(separator: "\n")
            )
        }
        guard !ids.isEmpty else {
            throw ValidationError(
                "no source given: name at least one source, as an argument or with --file"
            )
        }
    }

    private mutating func add(file: String, needsPrefix: Bool) throws {
        let data: Data
        do {
            let handle =
                file == "-"
                ? FileHandle.standardInput
                : try FileHandle(forReadingFrom: URL(fileURLWithPath: file))
            data = try handle.read(upToCount: Self.fileBytesMax + 1) ?? Data()
        } catch {
            throw ValidationError(
                "cannot read \(file): check that it exists and is readable"
            )
        }
        guard data.count <= Self.fileBytesMax else {
            throw ValidationError("\(file) is larger than 64 MiB; split it")
        }
        guard !data.starts(with: [0xFF, 0xFE]), !data.starts(with: [0xFE, 0xFF]) else {
            throw ValidationError("\(file) is UTF-16 text: save it as UTF-8")
        }
        for (index, line) in Self.lines(of: data).enumerated() {
            let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
            var bytes = line.drop(while: isSpace)
            while let last = bytes.last, isSpace(last) { bytes = bytes.dropLast() }
            guard let first = bytes.first, first != UInt8(ascii: "#") else { continue }
            add(
                String(decoding: bytes, as: UTF8.self),
                from: "\(file) line \(index + 1)",
                needsPrefix: needsPrefix
            )
        }
    }

    /// The lines of a file without a leading byte order mark.
    static func lines(of data: Data) -> [Data] {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = data.starts(with: mark) ? data.dropFirst(mark.count) : data
        return text.split(separator: 0x0A, omittingEmptySubsequences: false).flatMap { line in
            // CR LF is one line end; a single CR is a line end too.
            let line = line.last == 0x0D ? line.dropLast() : line
            return line.split(separator: 0x0D, omittingEmptySubsequences: false)
        }
    }

    private mutating func add(_ id: String, from origin: String, needsPrefix: Bool) {
        if let mistake = Self.mistake(in: id, needsPrefix: needsPrefix) {
            errorsTotal += 1
            if errors.count < Self.errorsListedMax {
                errors.append("\(origin): \(mistake)")
            }
        } else if seen.insert(id).inserted {
            ids.append(id)
        } else {
            duplicates += 1
        }
    }

    /// Returns what is wrong with an ID, by the server's rules; `nil` if it is valid.
    static func mistake(in id: String, needsPrefix: Bool) -> String? {
        // Checked first, so that a secret is never printed.
        if let secret = SecretShape(id) { return "this \(secret.advice)" }
        let shown = Terminal.clean(String(id.prefix(40)))
        guard !id.isEmpty else { return "an id must not be empty" }
        guard id.utf8.count <= 255 else { return "\(shown)… is longer than 255 characters" }
        let isClean = id.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "A"..."Z", "a"..."z", "0"..."9", "_", "-", ".": true
            default: false
            }
        }
        guard isClean else {
            return "\(shown): an id has only letters, digits, '_', '-' and '.'"
        }
        guard !needsPrefix || kinds.contains(where: { id.hasPrefix($0.prefix) }) else {
            return "\(shown) has no Stripe prefix (src_, pi_, …): add --kind"
        }
        return nil
    }
}

extension NameOptions {
    /// Throws `ValidationError` for invalid IDs.
    func check(_ ids: [String]) throws {
        for mistake in ids.compactMap({ SourceList.mistake(in: $0, needsPrefix: false) }) {
            throw ValidationError(mistake)
        }
    }

    /// The kind of a source: `--kind`, else by its prefix, else `http`, a configured upstream.
    func kind(of source: String) -> String {
        kind ?? (SourceList.kinds.first { source.hasPrefix($0.prefix) }?.kind ?? .http).rawValue
    }
}
