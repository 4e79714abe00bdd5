//! Names of borrowers.

use crate::chance::Chance;

const FIRST: [&str; 24] = [
    "Ada",
    "Zoë",
    "José",
    "Mary Ann",
    "Nguyễn",
    "Łukasz",
    "Søren",
    "Aoife",
    "D'Angelo",
    "Jürgen",
    "Μαρία",
    "Иван",
    "小明",
    "さくら",
    "محمد",
    "Priya",
    "Jean-Luc",
    "Chloé",
    "Þóra",
    "Kwame",
    "Thandiwe",
    "Noa",
    "Ji-woo",
    "Omar",
];
const LAST: [&str; 24] = [
    "Lovelace",
    "García Márquez",
    "O'Neill",
    "Müller",
    "Trần",
    "Wiśniewski",
    "Ångström",
    "van der Berg",
    "Παπαδοπούλου",
    "Иванова",
    "王",
    "佐藤",
    "الخطيب",
    "Smith-Jones",
    "Çelik",
    "Mbeki",
    "Ó Briain",
    "Guðmundsdóttir",
    "de la Cruz",
    "Kim",
    "Patel",
    "Nakamura",
    "Fernandes",
    "Smith",
];

/// First and last name.
pub fn name(chance: &mut Chance) -> (&'static str, &'static str) {
    (chance.one_of(&FIRST), chance.one_of(&LAST))
}
