import Foundation
import Poller
import PollerAPI
import PollerIdentity
import PollerUpstreams
import PollerWire
import SecretFiles
import Yams

/// The effective value of every option with where it came from, and what was not understood.
///
/// Values stay text here, and ``Settings`` parses them: so `check-config` can show each as it was written, with its
/// origin, also when another is wrong. A flag wins over a variable, and that over the file, for each option by itself.
/// What nobody understands is no error when a process starts (a newer file must not stop an older release), but is said,
/// with the name that was probably meant; `check-config` fails on it.
struct Configuration: Sendable {
    /// Where a value came from.
    enum Origin: String, Sendable {
        case flag
        case environment
        case file
        case standard = "default"
    }

    /// A value and its origin.
    struct Value: Sendable {
        let text: String
        let origin: Origin
    }

    /// By option key; options without a value are missing.
    var values: [String: Value]
    /// `POLLER_…` variables and YAML keys that no option has, each with a suggestion.
    let unknown: [String]
    /// The accounts and upstreams that the file describes.
    let sections: FileSections
    /// What is wrong in the sections of the file, and what of it is none; each is told, and none is used.
    let sectionMistakes: [ConfigurationError]
    /// Secrets that others can see, a sentence each with what to do.
    let warnings: [String]
    /// What the sections say, value by value.
    let statements: [[String]: Statement]
    /// The lines of the file at which options stand.
    private let lines: [String: Int]

    /// What the file has, read.
    private struct Written {
        var values: [String: Value] = [:]
        var sections = FileSections()
        var statements: [[String]: Statement] = [:]
        var mistakes: [ConfigurationError] = []

        /// The value of an option.
        struct Value {
            let text: String
            /// It stands in the file itself, and not in a variable or a file that it names.
            let isPlain: Bool
            let line: Int?
        }
    }

    /// Where options are looked for, before the places after it.
    private struct Place {
        let origin: Origin
        let text: (Option) -> String?
    }

    /// Gathers values.
    ///
    /// - Parameters:
    ///   - flags: option keys with the values given on the command line.
    ///   - file: the path of a YAML file of option keys, or nil.
    ///   - secrets: the process's environment, and where files are read.
    /// - Throws: ``ConfigurationError`` when the file, or one that holds a secret, cannot be read,
    ///   or when it is no flat mapping.
    init(
        flags: [String: String],
        file: String?,
        _ secrets: SecretReader
    ) throws(ConfigurationError) {
        let whole =
            try file.map { path throws(ConfigurationError) in
                try Self.read(path, secrets)
            } ?? Written()
        let written = whole.values
        sections = whole.sections
        sectionMistakes = whole.mistakes
        statements = whole.statements
        lines = written.compactMapValues(\.line)
        let places = [
            Place(origin: .flag) { flags[$0.key] },
            Place(origin: .environment) { secrets.variable($0.variable) },
            Place(origin: .environment) { $0.commonVariable.flatMap(secrets.variable) },
            Place(origin: .file) { written[$0.key]?.text },
            Place(origin: .standard, text: \.standard),
        ]
        var values: [String: Value] = [:]
        for option in Option.all {
            values[option.key] = try Self.value(of: option, in: places, secrets)
        }
        self.values = values
        for option in Option.all {
            let plain = written[option.key].flatMap { $0.isPlain ? $0.text : nil }
            Self.warn(of: option, flags[option.key], plain, file, secrets)
        }
        warnings = secrets.warnings
        let keys = Option.all.map(\.key)
        let variables = Option.all.map(\.variable) + ["POLLER_CONFIG_FILE"]
        // pollerctl's variables and those of test tooling stand beside ours.
        let foreign: Set<String> = [
            "POLLER_URL", "POLLER_API_KEY", "POLLER_API_KEY_FILE",
        ]
        unknown =
            written.keys.sorted().filter { !keys.contains($0) }
            .map { "\($0) in \(file ?? "")\(Self.suggestion(for: $0, among: keys))" }
            + secrets.environment.keys.sorted()
            .filter {
                $0.hasPrefix("POLLER_") && !variables.contains($0) && !foreign.contains($0)
                    && !$0.hasPrefix("POLLER_TEST_") && $0 != "POLLER_BIN_DIR"
            }
            .map { "\($0)\(Self.suggestion(for: $0, among: variables))" }
    }

    /// The first value there is; that of a secret may stand in a file of its own.
    private static func value(
        of option: Option,
        in places: [Place],
        _ secrets: SecretReader
    ) throws(ConfigurationError) -> Value? {
        for place in places {
            let text = place.text(option)
            guard let file = option.inFile, let path = place.text(file) else {
                if let text { return Value(text: text, origin: place.origin) }
                continue
            }
            guard text == nil else {
                throw ConfigurationError(
                    "\(option.variable) and \(file.variable) (\(option.flag) and \(file.flag)) are "
                        + "both set, from \(place.origin.rawValue): leave one of them out"
                )
            }
            let named = "\(file.variable) (\(file.flag), from \(place.origin.rawValue))"
            let secret = try secrets.contents(of: path, for: named)
            return Value(text: secret, origin: place.origin)
        }
        return nil
    }

    /// Warns of a secret that stands where others see it.
    private static func warn(
        of option: Option,
        _ flag: String?,
        _ written: String?,
        _ file: String?,
        _ secrets: SecretReader
    ) {
        guard let inFile = option.inFile else { return }
        func isSecret(_ text: String) -> Bool {
            option.secrecy == .hidden || withoutPassword(text) != text
        }
        if let flag, isSecret(flag) {
            secrets.warn(
                "\(option.flag) shows in the list of processes: use \(inFile.flag) PATH, or "
                    + "\(inFile.variable)"
            )
        }
        if let written, isSecret(written), let file, let warning = SecretFile.warning(file) {
            secrets.warn(warning)
        }
    }

    /// Where an option stands in the file; nil when something else is said about it, or nothing.
    func line(of key: String) -> Int? {
        values[key]?.origin == .file ? lines[key] : nil
    }

    private static func read(
        _ path: String,
        _ secrets: SecretReader
    ) throws(ConfigurationError) -> Written {
        let text: String
        do {
            text = try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            guard FileManager.default.fileExists(atPath: path) else {
                throw ConfigurationError("\(path): does not exist")
            }
            throw ConfigurationError("\(path): cannot be read as UTF-8 text: save it as UTF-8")
        }
        do {
            guard let node = try Yams.compose(yaml: WrittenValue.withoutByteOrderMark(text)) else {
                return Written()
            }
            guard let mapping = node.mapping else {
                throw ConfigurationError("\(path): is not a mapping of option keys to values")
            }
            var written = Written()
            for (key, value) in mapping {
                if let name = key.string, FileSections.keys.contains(name) {
                    let node = YAMLNode(value, at: "\(path): \(name)", secrets)
                    written.mistakes += written.sections.read(name, node)
                    written.statements.merge(node.statements([name])) { $1 }
                    continue
                }
                guard let key = key.string else {
                    throw ConfigurationError("\(path): a key has no name; write key: value")
                }
                if value.mapping != nil, Option.isSecret(key) {
                    let node = YAMLNode(value, at: "\(path): \(key)", secrets)
                    written.values[key] = Written.Value(
                        text: try node.secret(),
                        isPlain: false,
                        line: value.mark?.line
                    )
                    continue
                }
                guard let text = value.scalar?.string else {
                    written.mistakes.append(noSection(key, in: path, value.mark?.line))
                    continue
                }
                written.values[key] = Written.Value(
                    text: text,
                    isPlain: true,
                    line: value.mark?.line
                )
            }
            return written
        } catch let error as ConfigurationError {
            throw error
        } catch {
            throw noYAML(error, in: path)
        }
    }

    /// What to say of a file that is no YAML: never its text, which may be a secret.
    private static func noYAML(_ error: any Error, in path: String) -> ConfigurationError {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            ConfigurationError(
                "\(path): is not valid YAML at line \(mark.line): \(problem)",
                line: mark.line
            )
        case .duplicatedKeysInMapping(let names, let context):
            ConfigurationError(
                "\(path): has \(names.joined(separator: ", ")) twice",
                line: context.mark.line
            )
        default: ConfigurationError("\(path): is not valid YAML")
        }
    }

    /// What to say of a key that has members, or a list, and is no section.
    private static func noSection(
        _ key: String,
        in path: String,
        _ line: Int?
    ) -> ConfigurationError {
        guard !Option.all.contains(where: { $0.key == key }) else {
            return ConfigurationError(
                "\(path): \(key) has no plain value; write key: value",
                line: line
            )
        }
        let guess = suggestion(for: key, among: FileSections.keys)
        let sections = FileSections.keys.joined(separator: ", ")
        return ConfigurationError(
            "\(path): \(key) is no section of the file\(guess); there are \(sections)",
            line: line
        )
    }

    /// Hides the password of a URL.
    static func withoutPassword(_ text: String) -> String {
        guard let scheme = text.range(of: "://"),
            let at = text.range(of: "@", options: .backwards)
        else { return text }
        return text[..<scheme.upperBound] + "(redacted)" + text[at.lowerBound...]
    }

    /// `, did you mean …?` for a name that is nearly a known one.
    private static func suggestion(for name: String, among known: [String]) -> String {
        Spelling.nearest(to: name, among: known).map { ", did you mean \($0)?" } ?? ""
    }
}
