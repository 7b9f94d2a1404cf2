import Foundation
package import Poller

/// The words in all languages, ours or with an operator's in place of some.
package struct PayerLexicon: Sendable {
    /// The words this program was built with.
    package static let standard = PayerLexicon()

    private var words = PayerWords.standard

    private init() {}

    /// Words with an operator's own in place of some: files such as `de.txt` that name the keys they
    /// replace.
    ///
    /// Files of other names are passed over, so that a folder may hold more than words.
    ///
    /// Errors: ``InvalidInput`` with the file and what is wrong in it.
    package init(replacing files: [String: String]) throws(InvalidInput) {
        for (name, text) in files {
            guard name.hasSuffix(".txt"),
                let language = PayerLanguage(rawValue: String(name.dropLast(4)))
            else { continue }
            words[language] = try self[language].replacing(text)
        }
    }

    /// The texts of a folder by their names, of which none may be larger than a mail should be.
    ///
    /// Errors: ``InvalidInput`` when the folder or a text in it cannot be read.
    package static func files(in folder: String) throws(InvalidInput) -> [String: String] {
        var files: [String: String] = [:]
        do {
            for name in try FileManager.default.contentsOfDirectory(atPath: folder)
            where name.hasSuffix(".txt") || name.hasSuffix(".html") {
                let data = try Data(contentsOf: URL(filePath: folder).appending(path: name))
                guard data.count <= bytesMax, let text = String(bytes: data, encoding: .utf8) else {
                    throw InvalidInput(field: name, message: "is no UTF-8, or larger than 256 KiB")
                }
                files[name] = text
            }
        } catch let error as InvalidInput {
            throw error
        } catch {
            throw InvalidInput(field: "templates", message: "cannot be read: \(error)")
        }
        return files
    }

    /// Programs that show mails cut longer ones: Gmail at some 100 KiB.
    private static let bytesMax = 262_144

    /// The words in a language.
    package subscript(_ language: PayerLanguage) -> PayerWords {
        words[language] ?? PayerWords.in(language)
    }
}
