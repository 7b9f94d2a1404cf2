package import PollerIdentity
package import PollerOperations
import SecretFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The API keys in a file of the operator, one per line.
///
/// A line that begins with `#` is a comment.
///
/// *Form*: the key, then optional words separated by spaces: `role=viewer|support|operator|admin` (default: admin),
/// `account=NAME,NAME` (default: all), `allow=SCOPE,SCOPE` and `name=NAME`. Only digests stay in memory
/// (``KeyDigest``), so a core dump contains no key.
package struct KeyFile: Sendable, CustomStringConvertible {
    /// The size of a file with the maximum number of keys of the maximum length, and comments.
    private static let fileBytesMax = 1_048_576

    package let callers: [KeyDigest: Caller]

    /// A file without keys.
    package static let none = KeyFile(callers: [:])

    private init(callers: [KeyDigest: Caller]) {
        self.callers = callers
    }

    /// Reads a file.
    ///
    /// Errors: ``InvalidInput`` for the field `api_keys_file`, which never quotes a key.
    package init(contentsOfFile path: String) throws(InvalidInput) {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw Self.wrong(
                "cannot be read at \(path): check that it exists and that this user may "
                    + "read it"
            )
        }
        guard data.count <= Self.fileBytesMax, let text = String(bytes: data, encoding: .utf8)
        else { throw Self.wrong("must be UTF-8 text of at most \(Self.fileBytesMax) bytes") }
        try self.init(text: text)
    }

    /// Parses the text of a key file.
    ///
    /// A file without any key is rejected: an operator who configures a file intends to restrict access, and an empty
    /// file would open the API.
    package init(text: String) throws(InvalidInput) {
        var callers: [KeyDigest: Caller] = [:]
        var names: Set<String> = []
        let lines = WrittenValue.withoutByteOrderMark(text)
            .split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            let words = line.split { $0 == " " || $0 == "\t" }
            guard let key = words.first, !key.hasPrefix("#") else { continue }
            guard (20...200).contains(key.utf8.count),
                key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
            else {
                throw Self.wrong(
                    "line \(index + 1): a key is 20 to 200 printable ASCII characters without spaces"
                )
            }
            if let objection = WrittenValue.problem(in: String(key)) {
                throw Self.wrong("line \(index + 1): the key \(objection)")
            }
            callers[KeyDigest(of: key)] = try Self.caller(
                words.dropFirst(),
                number: callers.count + 1,
                names: &names,
                line: index + 1
            )
        }
        guard !callers.isEmpty, callers.count <= AccessKey.countMax else {
            throw Self.wrong("must hold 1 to \(AccessKey.countMax) keys, one a line")
        }
        self.callers = callers
    }

    /// Whether the file has no key.
    package var isEmpty: Bool { callers.isEmpty }

    package var description: String { "\(callers.count) keys (redacted)" }

    /// Returns the caller of a key, from the words that follow it.
    private static func caller(
        _ words: ArraySlice<Substring>,
        number: Int,
        names: inout Set<String>,
        line: Int
    ) throws(InvalidInput) -> Caller {
        var (name, role, accounts) = ("key \(number)", KeyRole.admin, AccountSet.all)
        var allowed: Set<Scope> = []
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            let value = parts.dropFirst().first ?? ""
            switch parts.first {
            case "name" where (1...64).contains(value.utf8.count): name = value
            case "role":
                guard let known = KeyRole(rawValue: value) else {
                    let all = KeyRole.allCases.map(\.rawValue).joined(separator: ", ")
                    throw wrong("line \(line): role must be one of \(all)")
                }
                role = known
            case "account":
                do {
                    accounts = .some(
                        Set(try value.split(separator: ",").map { try AccountID(String($0)) })
                    )
                } catch {
                    throw wrong("line \(line): account must be names with commas between")
                }
            case "allow":
                for text in value.split(separator: ",") {
                    guard let scope = Scope(rawValue: String(text)) else {
                        let all = Scope.allCases.map(\.rawValue).joined(separator: ", ")
                        throw wrong("line \(line): allow must be some of \(all)")
                    }
                    allowed.insert(scope)
                }
            default:
                throw wrong(
                    "line \(line): after the key, only role=…, account=…, allow=… or "
                        + "name=… are allowed"
                )
            }
        }
        do throws(InvalidInput) {
            try AuditActor.checkName(name)
        } catch {
            throw wrong("line \(line): name \(error.message)")
        }
        // Counters and records are kept by name, so each name must belong to one key. A duplicate gets a number.
        if !names.insert(name).inserted { name += " (\(number))" }
        return Caller(
            name: name,
            scopes: role.scopes.union(allowed),
            accounts: accounts,
            actor: AuditActor(name: name, role: role, accounts: accounts)
        )
    }

    private static func wrong(_ message: String) -> InvalidInput {
        InvalidInput("api_keys_file", message)
    }
}
