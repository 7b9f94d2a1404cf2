import Foundation

/// A file that holds one secret and nothing else, the form in which container platforms provide
/// secrets.
///
/// Safer than a flag, which every user of the machine sees in the process list, and than a
/// variable, which every child process inherits. White space around the secret, such as an editor's
/// final newline, is removed.
package struct SecretFile: Sendable {
    /// Longer than any key, URL or list of secrets.
    private static let bytesMax = 65_536

    package let text: String
    /// A warning that others can read the file, with the remedy; `nil` if they cannot.
    package let warning: String?

    /// Why a file has no usable secret: a sentence that names the file and the remedy.
    package struct Unusable: Error, CustomStringConvertible {
        package let description: String
    }

    /// Reads a file; a secret in quotation marks, or after a byte order mark, is rejected.
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
        // Whether Foundation removes the mark depends on its version.
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
            throw Unusable(description: "\(path) is empty: write the secret to it")
        }
        if let problem = WrittenValue.problem(in: text) {
            throw Unusable(description: "\(path) \(problem)")
        }
        warning = Self.warning(path)
    }

    /// Returns a warning if other users can read a file that holds secrets; `nil` if they cannot.
    package static func warning(_ path: String) -> String? {
        // Without attributes nothing can be concluded about the file.
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let mode = (attributes?[.posixPermissions] as? NSNumber)?.intValue ?? 0
        return mode & 0o004 == 0
            ? nil : "\(path) can be read by every user of this machine: chmod o-r \(path)"
    }
}
