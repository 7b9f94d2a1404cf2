import Foundation

/// A file that holds one secret and nothing else, as container platforms hand them out.
///
/// Better than a flag, which every user of the machine sees in its list of processes, and than a
/// variable, which every child inherits. What surrounds the secret, such as the newline of an
/// editor, is dropped.
package struct SecretFile: Sendable {
    /// Longer than any key, URL or list of secrets.
    private static let bytesMax = 65_536

    /// The secret.
    package let text: String
    /// Who else can read it, and what to do; nil when nobody can.
    package let warning: String?

    /// Why a file gives no secret: a sentence that names it and says what to do.
    package struct Unusable: Error, CustomStringConvertible {
        package let description: String
    }

    /// Reads a file; a secret that is in quotation quotationMarks, or behind a byte order mark, is refused.
    package init(path: String) throws(Unusable) {
        var isFolder: ObjCBool = false
        let files = FileManager.default
        guard unsafe files.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw Unusable(description: "\(path) does not exist")
        }
        guard !isFolder.boolValue else {
            throw Unusable(description: "\(path) is a folder: name the file in it")
        }
        let data: Data
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            data = try handle.read(upToCount: Self.bytesMax + 1) ?? Data()
        } catch {
            throw Unusable(description: "\(path) cannot be read: let this user read it")
        }
        // Whether Foundation drops the mark depends on its version.
        if data.starts(with: [0xEF, 0xBB, 0xBF]),
            let problem = WrittenValue.problem(in: "\u{FEFF}")
        {
            throw Unusable(description: "\(path) \(problem)")
        }
        guard data.count <= Self.bytesMax, let content = String(bytes: data, encoding: .utf8)
        else {
            throw Unusable(
                description: "\(path) must be UTF-8 text of at most \(Self.bytesMax) bytes"
            )
        }
        text = content.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else {
            throw Unusable(description: "\(path) is empty: write the secret into it")
        }
        if let problem = WrittenValue.problem(in: text) {
            throw Unusable(description: "\(path) \(problem)")
        }
        warning = Self.warning(path)
    }

    /// What is wrong with who may read a file that holds secrets; nil when nothing is.
    package static func warning(_ path: String) -> String? {
        // Of a file whose attributes cannot be had nothing can be said.
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let mode = (attributes?[.posixPermissions] as? NSNumber)?.intValue ?? 0
        return mode & 0o004 == 0
            ? nil : "\(path) can be read by everybody on this machine: chmod o-r \(path)"
    }
}
