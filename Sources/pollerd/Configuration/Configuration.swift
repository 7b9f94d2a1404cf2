import Foundation
import PollerAPI
import PollerIdentity
import PollerUpstreams
import PollerWire
import SecretFiles
import Yams

/// The effective value of every option with its origin, and the names that no option has.
///
/// Values stay text here, and ``Settings`` parses them. So `check-config` can print each value as written, with its
/// origin, even if another value is wrong. For each option, a flag overrides a variable, and a variable overrides the
/// file. An unknown name does not fail the start, because a newer file must not stop an older release. The process logs
/// it with a suggestion. `check-config` fails on it.
struct Configuration: Sendable {
    enum Origin: String, Sendable {
        case flag
        case environment
        case file
        case standard = "default"
    }

    struct Value: Sendable {
        let text: String
        let origin: Origin
    }

    /// The values by option key.
    ///
    /// Options without a value are missing.
    var values: [String: Value]
    /// `POLLER_…` variables and YAML keys that no option has, each with a suggestion.
    let unknown: [String]
    /// The accounts, upstreams and endpoints that the file describes.
    let sections: FileSections
    /// Mistakes in the sections of the file and keys that are no section.
    ///
    /// Each is reported, and none is used.
    let sectionMistakes: [ConfigurationError]
    /// Secrets that other users can read, one sentence each with a remedy.
    let warnings: [String]
    /// The values in the sections, by path.
    let statements: [[String]: Statement]
    /// The line of each option in the configuration file.
    private let lines: [String: Int]

    /// The parsed content of the configuration file.
    private struct ParsedFile {
        var values: [String: Value] = [:]
        var sections = FileSections()
        var statements: [[String]: Statement] = [:]
        var mistakes: [ConfigurationError] = []

        struct Value {
            let text: String
            /// Whether the value is in the configuration file itself, not in a variable or file that it names.
            let isPlain: Bool
            let line: Int?
        }
    }

    /// One source of option values.
    ///
    /// Earlier places win.
    private struct ValueSource {
        let origin: Origin
        let text: (Option) -> String?
    }

    /// Collects the value of every option.
    ///
    /// - Parameters:
    ///   - flags: option keys with the values given on the command line.
    ///   - file: the path of a YAML file of option keys, or `nil`.
    ///   - secrets: the process's environment and the reader of secret files.
    /// - Throws: ``ConfigurationError`` if the file, or a file with a secret, cannot be read, or if it is not a flat
    ///   mapping.
    init(
        flags: [String: String],
        file: String?,
        _ secrets: SecretReader
    ) throws(ConfigurationError) {
        let whole =
            try file.map { path throws(ConfigurationError) in
                try Self.read(path, secrets)
            } ?? ParsedFile()
        let written = whole.values
        sections = whole.sections
        sectionMistakes = whole.mistakes
        statements = whole.statements
        lines = written.compactMapValues(\.line)
        let valueSources = [
            ValueSource(origin: .flag) { flags[$0.key] },
            ValueSource(origin: .environment) { secrets.variable($0.variable) },
            ValueSource(origin: .environment) { $0.commonVariable.flatMap(secrets.variable) },
            ValueSource(origin: .file) { written[$0.key]?.text },
            ValueSource(origin: .standard, text: \.standard),
        ]
        var values: [String: Value] = [:]
        for option in Option.all {
            values[option.key] = try Self.value(of: option, in: valueSources, secrets)
        }
        self.values = values
        for option in Option.all {
            let plain = written[option.key].flatMap { $0.isPlain ? $0.text : nil }
            Self.warn(of: option, flags[option.key], plain, file, secrets)
        }
        warnings = secrets.warnings
        let keys = Option.all.map(\.key)
        let variables = Option.all.map(\.variable) + ["POLLER_CONFIG_FILE"]
        // These variables belong to pollerctl. Test tooling has the prefix `POLLER_TEST_`.
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

    /// Returns the value from the first place that has one.
    ///
    /// A secret may be in a file that the place names.
    private static func value(
        of option: Option,
        in valueSources: [ValueSource],
        _ secrets: SecretReader
    ) throws(ConfigurationError) -> Value? {
        for valueSource in valueSources {
            let text = valueSource.text(option)
            guard let file = option.inFile, let path = valueSource.text(file) else {
                if let text { return Value(text: text, origin: valueSource.origin) }
                continue
            }
            guard text == nil else {
                throw ConfigurationError(
                    "\(option.variable) and \(file.variable) (\(option.flag) and \(file.flag)) are "
                        + "both set, from \(valueSource.origin.rawValue): remove one of them"
                )
            }
            let named = "\(file.variable) (\(file.flag), from \(valueSource.origin.rawValue))"
            let secret = try secrets.contents(of: path, for: named)
            return Value(text: secret, origin: valueSource.origin)
        }
        return nil
    }

    /// Warns about a secret in a flag or in a configuration file that other users can read.
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
                "\(option.flag) is visible in the process list: use \(inFile.flag) PATH, or "
                    + "\(inFile.variable)"
            )
        }
        if let written, isSecret(written), let file, let warning = SecretFile.warning(file) {
            secrets.warn(warning)
        }
    }

    /// The line of an option in the file, or `nil` if the value in effect is not from the file.
    func line(of key: String) -> Int? {
        values[key]?.origin == .file ? lines[key] : nil
    }

    private static func read(
        _ path: String,
        _ secrets: SecretReader
    ) throws(ConfigurationError) -> ParsedFile {
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
                return ParsedFile()
            }
            guard let mapping = node.mapping else {
                throw ConfigurationError("\(path): is not a mapping of option keys to values")
            }
            var written = ParsedFile()
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
                    written.values[key] = ParsedFile.Value(
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
                written.values[key] = ParsedFile.Value(
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

    /// Describes invalid YAML without quoting the file's text, which may hold a secret.
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

    /// Describes a key with members or a list that is not a section.
    private static func noSection(
        _ key: String,
        in path: String,
        _ line: Int?
    ) -> ConfigurationError {
        guard !Option.all.contains(where: { $0.key == key }) else {
            return ConfigurationError(
                "\(path): \(key) has no scalar value; write key: value",
                line: line
            )
        }
        let guess = suggestion(for: key, among: FileSections.keys)
        let sections = FileSections.keys.joined(separator: ", ")
        return ConfigurationError(
            "\(path): \(key) is not a section of the file\(guess); the sections are \(sections)",
            line: line
        )
    }

    /// Replaces the password of a URL with `(redacted)`.
    static func withoutPassword(_ text: String) -> String {
        guard let scheme = text.range(of: "://"),
            let at = text.range(of: "@", options: .backwards)
        else { return text }
        return text[..<scheme.upperBound] + "(redacted)" + text[at.lowerBound...]
    }

    /// Returns `, did you mean …?` for a name close to a known one, otherwise an empty string.
    private static func suggestion(for name: String, among known: [String]) -> String {
        Spelling.nearest(to: name, among: known).map { ", did you mean \($0)?" } ?? ""
    }
}
