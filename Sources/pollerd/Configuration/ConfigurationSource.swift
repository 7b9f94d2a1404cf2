import Foundation
import SecretFiles

/// The source of a process's configuration, which can be read repeatedly while the process runs.
///
/// Flags and variables are fixed at the start. The files can change: the configuration file, the files that it or a
/// `…_FILE` option names, and the file of API keys.
struct ConfigurationSource: Sendable {
    /// Option keys with the values given on the command line.
    let flags: [String: String]
    let environment: [String: String]
    /// The path of the configuration file, or `nil` if there is none.
    let file: String?

    /// The result of one read.
    struct Reading: Sendable {
        let configuration: Result<Configuration, ConfigurationError>
        /// The files that were read or could not be read.
        ///
        /// A change in one of them may change the configuration.
        let files: Set<String>
    }

    /// Returns the same source with another configuration file.
    func replacing(file: String) -> Self {
        Self(flags: flags, environment: environment, file: file)
    }

    /// Reads the whole configuration again.
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

/// A configuration that cannot be used.
///
/// The message names the correction.
struct ConfigurationError: Error, CustomStringConvertible {
    let description: String
    /// The option with the wrong value, or `nil` if no single option is wrong.
    let key: String?
    /// The line in the configuration file, or `nil` if the mistake has no line there.
    let line: Int?

    init(_ description: String, key: String? = nil, line: Int? = nil) {
        self.description = description
        self.key = key
        self.line = line
    }
}

/// Reads the secrets of a configuration from variables and files.
///
/// It is a class because it collects warnings while the configuration is read.
final class SecretReader {
    let environment: [String: String]
    /// Warnings for the operator, one sentence each.
    private(set) var warnings: [String] = []
    /// Every file that was requested, including unreadable ones.
    private(set) var paths: Set<String> = []

    init(environment: [String: String]) {
        self.environment = environment
    }

    /// Returns a variable's value, or `nil` if it is unset or empty.
    func variable(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the secret in a file.
    ///
    /// The error message names the setting `place`.
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

    /// Adds a warning once.
    func warn(_ warning: String) {
        if !warnings.contains(warning) { warnings.append(warning) }
    }
}
