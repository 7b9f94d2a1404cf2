import Foundation
import SecretFiles

/// Where a process takes its configuration from: again and again while it runs.
///
/// Flags and variables are those of its start; what can change are files: the configuration file, those
/// that it or a `…_FILE` option names, and the file of API keys.
struct ConfigurationSource: Sendable {
    /// Option keys with the values given on the command line.
    let flags: [String: String]
    let environment: [String: String]
    /// The path of the configuration file; nil where there is none.
    let file: String?

    /// What came of reading it once.
    struct Reading: Sendable {
        let configuration: Result<Configuration, ConfigurationError>
        /// The files that were read, or that were to be read: a change in one of them may change the rest.
        let files: Set<String>
    }

    /// The same with another configuration file.
    func replacing(file: String) -> Self {
        Self(flags: flags, environment: environment, file: file)
    }

    /// Reads everything anew.
    func read() -> Reading {
        let secrets = SecretReader(environment: environment)
        let configuration = Result { () throws(ConfigurationError) in
            try Configuration(flags: flags, file: file, secrets)
        }
        var files = secrets.paths
        if let file { files.insert(file) }
        if let keys = try? configuration.get().values["api_keys_file"]?.text { files.insert(keys) }
        return Reading(configuration: configuration, files: files)
    }
}

/// A configuration that cannot be used; the message says what to write instead.
struct ConfigurationError: Error, CustomStringConvertible {
    let description: String
    /// The option whose value is wrong; nil when it is no single one's.
    let key: String?
    /// Where it stands in the configuration file; nil when it is not of one line there.
    let line: Int?

    init(_ description: String, key: String? = nil, line: Int? = nil) {
        self.description = description
        self.key = key
        self.line = line
    }
}

/// Where the secrets of a configuration come from: variables and files.
///
/// A class, because it gathers what to warn of while the configuration is read.
final class SecretReader {
    let environment: [String: String]
    /// What the operator should mend, a sentence each.
    private(set) var warnings: [String] = []
    /// Every file that was asked for, also those that could not be read.
    private(set) var paths: Set<String> = []

    /// Reads from this environment.
    init(environment: [String: String]) {
        self.environment = environment
    }

    /// A variable; nil when it is not set or empty.
    func variable(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The secret in a file; `place` is who names it, for the error.
    func contents(of path: String, for place: String) throws(ConfigurationError) -> String {
        paths.insert(path)
        do throws(SecretFile.Unusable) {
            let file = try SecretFile(path: path)
            if let warning = file.warning { warn(warning) }
            return file.text
        } catch {
            throw ConfigurationError("\(place): \(error)")
        }
    }

    /// Adds a warning, once.
    func warn(_ warning: String) {
        if !warnings.contains(warning) { warnings.append(warning) }
    }
}
