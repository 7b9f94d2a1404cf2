import Foundation
package import PollerIdentity

/// The texts for payers in every language, with the operator's replacements.
package struct PayerLexicon: Sendable {
    /// The built-in texts.
    package static let standard = PayerLexicon()

    private var words = PayerWords.standard

    private init() {}

    /// Replaces built-in texts by those of the operator's files, such as `de.txt`.
    ///
    /// A file contains only the keys it replaces. Files with other names are ignored, so the folder may contain
    /// other files.
    ///
    /// Errors: ``InvalidInput`` with the file and the reason.
    package init(replacing files: [String: String]) throws(InvalidInput) {
        for (name, text) in files {
            guard name.hasSuffix(".txt"),
                let language = PayerLanguage(rawValue: String(name.dropLast(4)))
            else { continue }
            words[language] = try self[language].replacing(text)
        }
    }

    /// Reads the `.txt` and `.html` files of a folder, by file name.
    ///
    /// Errors: ``InvalidInput`` when the folder or a file cannot be read, is not UTF-8 or is larger than 256 KiB.
    package static func files(in folder: String) throws(InvalidInput) -> [String: String] {
        var files: [String: String] = [:]
        do {
            for name in try FileManager.default.contentsOfDirectory(atPath: folder)
            where name.hasSuffix(".txt") || name.hasSuffix(".html") {
                let data = try Data(contentsOf: URL(filePath: folder).appending(path: name))
                guard data.count <= bytesMax, let text = String(bytes: data, encoding: .utf8) else {
                    throw InvalidInput(name, "must be UTF-8 and at most 256 KiB")
                }
                files[name] = text
            }
        } catch let error as InvalidInput {
            throw error
        } catch {
            throw InvalidInput("templates", "cannot be read: \(error)")
        }
        return files
    }

    /// The largest template file, in bytes.
    ///
    /// Gmail truncates emails above about 100 KiB.
    private static let bytesMax = 262_144

    /// The texts in a language.
    package subscript(_ language: PayerLanguage) -> PayerWords {
        words[language] ?? PayerWords.in(language)
    }
}
